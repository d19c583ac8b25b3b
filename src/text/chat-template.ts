import { fail, isRocmforgeError } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import { JinjaTemplate, type Rendered, strftime, TrustedText } from '../jinja/index.ts';
import type { ChatTool, TemplateMessage } from './chat-message.ts';
import { adaptConversation } from './adapt-conversation.ts';
import { dialectOf } from './dialects/index.ts';
import { NAMED_TEMPLATES } from './named-templates.ts';
import { TemplateForm } from './template-form.ts';
import type { Tokenizer } from './tokenizer.ts';
import type { TokenizerMetadata } from './tokenizer-metadata.ts';

const KEY = 'tokenizer.chat_template';
/** Variables that have options or arguments of their own. */
const OWN_VARIABLES: ReadonlySet<string> = new Set(['messages', 'tools', 'add_generation_prompt']);

/** Recognizes a Jinja template. */
const JINJA = /\{[{%]/;

/** Variables of a template besides the messages. */
export interface ChatRenderOptions {
  /** Whether the text ends with the beginning of the assistant's turn. Default true. */
  readonly addGenerationPrompt?: boolean;
  readonly tools?: readonly ChatTool[];
  /** Further variables that the template reads, such as `enable_thinking`. */
  readonly variables?: Readonly<Record<string, unknown>>;
  /** The time for `strftime_now`. Default: the current time. */
  readonly now?: Date;
}

/** The texts of `bos_token` and `eos_token`. */
export interface TemplateTokens {
  readonly bosToken?: string;
  readonly eosToken?: string;
}

/** A parsed template and what was found out about it. */
interface Program {
  readonly source: string;
  readonly template: JinjaTemplate;
  readonly form: TemplateForm;
  /** Whether it fails without variables that other templates do not need. */
  needsMore?: boolean;
}

/**
 * Renders a conversation as the text that a model was trained on, with the model's own Jinja template. Values that a
 * template does not support in the given form (contents as parts, arguments as text, a system role) are converted to
 * the form it supports. Encode the result with `encodeChat`.
 */
export class ChatTemplate {
  readonly #main: Program;
  readonly #forTools: Program;
  /** The source used for conversations with tools. */
  readonly toolSource: string;
  readonly #logger: Logger;

  /** Throws `CHAT_TEMPLATE_INVALID`. `toolSource` renders conversations with tools; default: `source`. */
  constructor(
    /** The Jinja source. */
    readonly source: string,
    readonly tokens: TemplateTokens = {},
    {
      toolSource,
      logger = silentLogger,
    }: { readonly toolSource?: string | undefined; readonly logger?: Logger } = {},
  ) {
    this.#logger = logger;
    this.#main = this.#program(source);
    this.toolSource = toolSource ?? source;
    this.#forTools = toolSource === undefined ? this.#main : this.#program(toolSource);
  }

  /**
   * The template of a GGUF file: `tokenizer.chat_template`, or the variant `tokenizer.chat_template.NAME`. Without a
   * name, the variant `tool_use` renders conversations with tools. Throws `CHAT_TEMPLATE_MISSING`, and
   * `CHAT_TEMPLATE_INVALID` also for a template whose output does not depend on the messages.
   */
  static read(
    metadata: TokenizerMetadata,
    tokenizer: Tokenizer,
    name?: string,
    logger: Logger = silentLogger,
  ): ChatTemplate {
    const key = name === undefined || name === 'default' ? KEY : `${KEY}.${name}`;
    const source = metadata.string(key);
    if (source === undefined) {
      const known = chatTemplateNames(metadata).join(', ') || 'none at all';
      fail('CHAT_TEMPLATE_MISSING', { wanted: key, known });
    }
    const toolSource = name === undefined ? metadata.string(`${KEY}.tool_use`) : undefined;
    return new ChatTemplate(templateOf(source), tokensOf(tokenizer), {
      toolSource: toolSource === undefined ? undefined : templateOf(toolSource),
      logger,
    });
  }

  /**
   * A template given by the user: its text, the name of a variant in the file, or the name of a built-in one. Throws as
   * `read`.
   */
  static given(
    text: string,
    metadata: TokenizerMetadata,
    tokenizer: Tokenizer,
    logger: Logger = silentLogger,
  ): ChatTemplate {
    const isName = !JINJA.test(text) && !Object.hasOwn(NAMED_TEMPLATES, text);
    if (isName) return ChatTemplate.read(metadata, tokenizer, text, logger);
    return new ChatTemplate(templateOf(text), tokensOf(tokenizer), { logger });
  }

  /** The text of `renderSpans`. */
  render(messages: readonly TemplateMessage[], options: ChatRenderOptions = {}): string {
    return this.renderSpans(messages, options).text;
  }

  /**
   * The rendered conversation, and which of its characters the template itself wrote. Throws `CHAT_TEMPLATE_REJECTED`
   * if the template refuses the conversation, `CHAT_TEMPLATE_FAILED` if it fails.
   */
  renderSpans(messages: readonly TemplateMessage[], options: ChatRenderOptions = {}): Rendered {
    const { addGenerationPrompt = true, tools, variables, now = new Date() } = options;
    const own = Object.keys(variables ?? {}).find((name) => OWN_VARIABLES.has(name));
    if (own !== undefined) {
      const expected = `another variable: ${own} comes from the conversation and the options`;
      fail('INVALID_ARGUMENT', { name: 'variables', found: own, expected });
    }
    const program = tools === undefined ? this.#main : this.#forTools;
    const { source, template, form } = program;
    const render = (given: readonly unknown[], shown: readonly ChatTool[] | undefined) => {
      const all = { ...this.#tokenTexts(), ...this.#needed(program, tools, now), ...variables };
      const of = { messages: given, tools: shown, add_generation_prompt: addGenerationPrompt };
      return template.render({ ...all, ...of }, now);
    };
    const adapted = adaptConversation(
      { messages, tools },
      {
        source,
        form,
        write: dialectOf(source).write,
        logger: this.#logger,
        render: (given, shown) => attempt(() => render(given, shown).text),
      },
    );
    return render(adapted.messages, adapted.tools);
  }

  #program(source: string): Program {
    const template = new JinjaTemplate(source);
    const program: Program = {
      source,
      template,
      form: new TemplateForm((messages, tools) => {
        const now = new Date(0);
        const all = { ...this.#tokenTexts(), ...this.#needed(program, tools, now) };
        return attempt(
          () => template.render({ ...all, messages, tools, add_generation_prompt: true }, now).text,
        );
      }),
    };
    return program;
  }

  /** Additional variables that some templates require, with the values of the models' documentation. */
  #needed(program: Program, tools: readonly ChatTool[] | undefined, now: Date): Record<string, unknown> {
    const given = () => ({
      functions: JSON.stringify((tools ?? []).map((tool) => tool.function)),
      datetime: strftime(now, '%b %d %Y'),
    });
    program.needsMore ??= !this.#isRendered(program, {}) && this.#isRendered(program, given());
    return program.needsMore ? given() : {};
  }

  #isRendered({ template }: Program, variables: Record<string, unknown>): boolean {
    const messages = [{ role: new TrustedText('user'), content: 'x' }];
    const all = { ...this.#tokenTexts(), ...variables, messages, add_generation_prompt: true };
    return attempt(() => template.render(all, new Date(0)).text) !== undefined;
  }

  #tokenTexts(): Record<string, TrustedText> {
    const { bosToken = '', eosToken = '' } = this.tokens;
    return { bos_token: new TrustedText(bosToken), eos_token: new TrustedText(eosToken) };
  }
}

/** The rendered text; undefined if the template fails or refuses. */
function attempt(render: () => string): string | undefined {
  try {
    return render();
  } catch (error) {
    if (isRocmforgeError(error)) return undefined;
    throw error;
  }
}

/** The names of the templates in a GGUF file; the main one is `default`. */
export function chatTemplateNames(metadata: TokenizerMetadata): string[] {
  const names: string[] = [];
  for (const key of metadata.keys()) {
    if (key === KEY) names.unshift('default');
    else if (key.startsWith(`${KEY}.`)) names.push(key.slice(KEY.length + 1));
  }
  return names;
}

/**
 * The ids of a rendered conversation: control tokens, and user-defined ones that are markup, are recognized only in
 * text that the template wrote, never in text from outside; exactly one bos token comes first, whether or not the
 * template wrote it.
 */
export function encodeChat(tokenizer: Tokenizer, { text, written }: Rendered): number[] {
  return begun(tokenizer, tokenizer.encode(text, { addSpecial: false, parseSpecial: written }));
}

/** The same ids, encoded in slices between the thread's other work. Rejects with `ABORTED` when the signal fires. */
export async function encodeChatInTurns(
  tokenizer: Tokenizer,
  { text, written }: Rendered,
  signal?: AbortSignal,
): Promise<number[]> {
  const options = { addSpecial: false, parseSpecial: written, ...(signal && { signal }) };
  return begun(tokenizer, await tokenizer.encodeInTurns(text, options));
}

function begun({ special: { bos, addBos } }: Tokenizer, ids: number[]): number[] {
  return addBos && bos !== undefined && ids[0] !== bos ? [bos, ...ids] : ids;
}

function templateOf(found: string): string {
  if (Object.hasOwn(NAMED_TEMPLATES, found)) return NAMED_TEMPLATES[found] as string;
  if (JINJA.test(found)) return found;
  fail('CHAT_TEMPLATE_INVALID', { reason: `"${found.slice(0, 40)}" has no place for the messages` });
}

function tokensOf(tokenizer: Tokenizer): TemplateTokens {
  const { bos, eos } = tokenizer.special;
  return {
    bosToken: bos === undefined ? '' : tokenizer.tokenText(bos),
    eosToken: eos === undefined ? '' : tokenizer.tokenText(eos),
  };
}
