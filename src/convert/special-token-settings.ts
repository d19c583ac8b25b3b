import { type CheckpointFiles, isObject, type JsonObject, readJson } from './checkpoint.ts';
import type { Settings } from './family.ts';

/** The roles of tokens that files name. Keys of GGUF spell two of them out. */
const ROLES = ['bos', 'eos', 'unk', 'sep', 'pad', 'cls', 'mask'] as const;
const KEYS: Readonly<Record<string, string>> = { unk: 'unknown', sep: 'seperator', pad: 'padding' };

/** Where special tokens and templates are named. */
interface SpecialSource {
  readonly files: CheckpointFiles;
  /** `tokenizer_config.json` */
  readonly config: JsonObject | undefined;
  /** `tokenizer.json` */
  readonly tokenizer: JsonObject | undefined;
}

/** Writes which tokens begin and end texts, whether they are added, and the chat templates. */
export async function writeSpecialTokens(source: SpecialSource, settings: Settings): Promise<void> {
  const { files, config, tokenizer } = source;
  const ids = new Map<string, number>();
  const added = new Map<string, boolean>();
  const ends = templateEnds(tokenizer);
  const named = (role: string): string | undefined => {
    const entry =
      config?.[`${role}_token`] ?? (role === 'bos' ? ends.first : role === 'eos' ? ends.last : undefined);
    return isObject(entry) ? textOf(entry.content) : textOf(entry);
  };
  if (ends.first !== undefined) added.set('bos', ends.first === named('bos') || ends.first === named('cls'));
  if (ends.last !== undefined) added.set('eos', ends.last === named('eos'));
  const model = await readJson(files, 'config.json');
  const inner = isObject(model?.text_config) ? model.text_config : undefined;
  for (const role of ROLES) {
    const adds = config?.[`add_${role}_token`];
    if (typeof adds === 'boolean') added.set(role, adds);
    const byName = config && idOf(tokenizer, named(role));
    const id = byName ?? model?.[`${role}_token_id`] ?? inner?.[`${role}_token_id`];
    if (typeof id === 'number' && id >= 0) ids.set(role, id);
  }
  for (const [role, value] of ids) {
    settings.set(`tokenizer.ggml.${KEYS[role] ?? role}_token_id`, { type: 'u32', value });
  }
  for (const [role, value] of added) {
    if (!['bos', 'eos', 'sep'].includes(role)) continue;
    settings.set(`tokenizer.ggml.add_${role}_token`, { type: 'bool', value });
  }
  await writeTemplates(source, settings);
}

/** The special tokens at both ends of what the tokenizer's own template makes of one text. */
function templateEnds(tokenizer: JsonObject | undefined): {
  first?: string | undefined;
  last?: string | undefined;
} {
  const processor = isObject(tokenizer?.post_processor) ? tokenizer.post_processor : {};
  const all: readonly unknown[] = Array.isArray(processor.processors) ? processor.processors : [processor];
  const template = all.find((one): one is JsonObject => isObject(one) && one.type === 'TemplateProcessing');
  const single: readonly unknown[] = Array.isArray(template?.single) ? template.single : [];
  if (single.length < 2) return {};
  const special = (item: unknown) =>
    isObject(item) && isObject(item.SpecialToken) ? textOf(item.SpecialToken.id) : undefined;
  return { first: special(single[0]), last: special(single.at(-1)) };
}

/** The id of the first added token with that text. */
function idOf(tokenizer: JsonObject | undefined, text: string | undefined): number | undefined {
  const tokens: readonly unknown[] = Array.isArray(tokenizer?.added_tokens) ? tokenizer.added_tokens : [];
  const found = tokens.find((token): token is JsonObject => isObject(token) && token.content === text);
  return typeof found?.id === 'number' ? found.id : undefined;
}

async function writeTemplates({ files, config }: SpecialSource, settings: Settings): Promise<void> {
  const bytes = await files.read('chat_template.jinja');
  const other = bytes
    ? new TextDecoder().decode(bytes)
    : (await readJson(files, 'chat_template.json'))?.chat_template;
  const template = config?.chat_template ?? other;
  const set = (key: string, value: string) => settings.set(key, { type: 'string', value });
  if (typeof template === 'string') set('tokenizer.chat_template', template);
  if (!Array.isArray(template)) return;
  const names: string[] = [];
  for (const entry of template.filter(isObject)) {
    const [name, text] = [String(entry.name), String(entry.template)];
    if (name === 'default') set('tokenizer.chat_template', text);
    else {
      names.push(name.replace(/[^A-Za-z0-9_]/g, '_'));
      set(`tokenizer.chat_template.${names.at(-1)}`, text);
    }
  }
  if (names.length > 0) {
    settings.set('tokenizer.chat_templates', { type: 'array', element: 'string', values: names });
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
