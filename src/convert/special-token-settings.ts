import { type CheckpointFiles, isObject, type JsonObject, readJson } from './checkpoint.ts';
import type { Settings } from './family.ts';

/** The roles of tokens that files name. Keys of GGUF spell two of them out. */
const ROLES = ['bos', 'eos', 'unk', 'sep', 'pad', 'cls', 'mask', 'eot'] as const;
type Role = (typeof ROLES)[number];
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
  const ids = new Map<Role, number>();
  const names = new Map<Role, string | undefined>();
  for (const role of ROLES) {
    const entry = config?.[`${role}_token`];
    names.set(role, isObject(entry) ? textOf(entry.content) : textOf(entry));
  }
  const added = tokenizer ? addedByTemplate(tokenizer, names) : new Map<Role, boolean>();
  const model = await readJson(files, 'config.json');
  const inner = isObject(model?.text_config) ? model.text_config : undefined;
  for (const role of ROLES) {
    const adds = config?.[`add_${role}_token`];
    if (typeof adds === 'boolean') added.set(role, adds);
    const byName = config && idOf(tokenizer, names.get(role));
    const id = byName ?? model?.[`${role}_token_id`] ?? inner?.[`${role}_token_id`];
    if (typeof id === 'number' && id >= 0) ids.set(role, id);
  }
  for (const [role, value] of ids) {
    // Files have no key for it; it begins texts, and so is named there.
    if (role === 'cls') continue;
    settings.set(`tokenizer.ggml.${KEYS[role] ?? role}_token_id`, { type: 'u32', value });
  }
  for (const [role, value] of added) {
    if (!['bos', 'eos', 'sep'].includes(role)) continue;
    settings.set(`tokenizer.ggml.add_${role}_token`, { type: 'bool', value });
  }
  if (tokenizer) writeNormalizer(tokenizer.normalizer, settings);
  await writeTemplates(source, settings);
}

/**
 * Which special tokens the tokenizer's own template adds to a text, or between two. Completes the names: the first and last token of
 * the template are those that begin and end texts, and the one that the settings call the end then ends a turn.
 */
function addedByTemplate(tokenizer: JsonObject, names: Map<Role, string | undefined>): Map<Role, boolean> {
  const added = new Map<Role, boolean>();
  names.set('bos', names.get('bos') ?? names.get('cls'));
  names.set('eos', names.get('eos') ?? names.get('sep'));
  const processor = isObject(tokenizer.post_processor) ? tokenizer.post_processor : {};
  const all: readonly unknown[] = Array.isArray(processor.processors) ? processor.processors : [processor];
  const template = all.find((one): one is JsonObject => isObject(one) && one.type === 'TemplateProcessing');
  const [single, pair] = [listOf(template?.single), listOf(template?.pair)];
  const first = single.length < 2 ? undefined : specialOf(single[0]);
  const last = single.length < 2 ? undefined : specialOf(single.at(-1));
  if (first !== undefined) {
    if (names.get('bos') === undefined) names.set('bos', first);
    added.set('bos', first === names.get('bos') || first === names.get('cls'));
  }
  if (last !== undefined) {
    if (last !== names.get('eos')) names.set('eot', names.get('eos'));
    names.set('eos', last);
    added.set('eos', true);
  }
  const start = first !== undefined && specialOf(pair[0]) === first ? 1 : 0;
  const end = last !== undefined && specialOf(pair.at(-1)) === last ? -1 : undefined;
  const between = pair.slice(start, end).slice(1, -1);
  if (between.length === 0) return added;
  const separates = (item: unknown) => {
    const text = specialOf(item);
    return text !== undefined && (text === names.get('sep') || text === names.get('eos'));
  };
  const byFirst = last === undefined && separates(between[0]);
  added.set('sep', byFirst || (between.length === 2 && separates(between[1])));
  return added;
}

/** The text of a template's special token. */
function specialOf(item: unknown): string | undefined {
  return isObject(item) && isObject(item.SpecialToken) ? textOf(item.SpecialToken.id) : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Whether texts become lower case and lose their accents. */
function writeNormalizer(normalizer: unknown, settings: Settings): void {
  if (!isObject(normalizer)) return;
  const set = (name: string, value: unknown) => {
    if (typeof value !== 'boolean') return;
    settings.set(`tokenizer.ggml.normalizer.${name}`, { type: 'bool', value });
  };
  if (normalizer.type === 'Sequence') {
    for (const one of listOf(normalizer.normalizers)) writeNormalizer(one, settings);
  }
  if (normalizer.type === 'Lowercase') set('lowercase', true);
  if (normalizer.type === 'StripAccents') set('strip_accents', true);
  if (normalizer.type !== 'BertNormalizer') return;
  set('lowercase', normalizer.lowercase);
  set('strip_accents', normalizer.strip_accents);
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
