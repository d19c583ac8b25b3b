import { fail, isRocmforgeError } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import { JinjaTemplate, type Rendered, strftime, TrustedText } from '../jinja/index.ts';
import type { ChatTool, TemplateMessage } from './chat-message.ts';
import { adaptConversation } from './adapt-conversation.ts';
import { dialectOf } from './dialects/index.ts';
import { TemplateForm } from './template-form.ts';
import type { Tokenizer } from './tokenizer.ts';
import type { TokenizerMetadata } from './tokenizer-metadata.ts';

const KEY = 'tokenizer.chat_template';

/**
 * Templates of which a file may hold the name alone: llama.cpp's converter writes RWKV World's so where it does not find the
 * template itself. The model ends its turns with an empty line.
 */
const NAMED: Readonly<Record<string, string>> = {
  'rwkv-world':
    "{% set names = {'system': 'System', 'user': 'User', 'assistant': 'Assistant'} %}" +
    "{% for message in messages %}{{ names[message.role] + ': ' + message.content | trim + '\\n\\n' }}{% endfor %}" +
    "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}",
};

/** What a text has that is a template of messages. */
const JINJA = /\{[{%]/;

/** What a template may use besides the messages. */
export interface ChatRenderOptions {
  /** Ends with the beginning of the assistant's turn. Default true. */
  readonly addGenerationPrompt?: boolean;
  readonly tools?: readonly ChatTool[];
  /** Further variables that the template knows, such as `enable_thinking`. */
  readonly variables?: Readonly<Record<string, unknown>>;
  /** What `strftime_now` calls now. Default: the clock. */
  readonly now?: Date;
}

/** The texts that templates write as `bos_token` and `eos_token`. */
export interface TemplateTokens {
  readonly bosToken?: string;
  readonly eosToken?: string;
}

/** A template's program and what was found out about it. */
interface Program {
  readonly source: string;
  readonly template: JinjaTemplate;
  readonly form: TemplateForm;
  /** Whether it fails without variables that others do not have. */
  needsMore?: boolean;
}

/**
 * Writes a conversation as the text that a model was trained on, by the model's own Jinja template. What a template does not
 * know in the form it is given (contents of parts, arguments as text, a system role) it gets in the form it knows. Encode the
 * result with `encodeChat`.
 */
export class ChatTemplate {
  readonly #main: Program;
  readonly #forTools: Program;
  /** The source that renders conversations with tools. */
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
   * The template of a GGUF file: `tokenizer.chat_template`, or the variant `tokenizer.chat_template.NAME`. Without a name,
   * the variant `tool_use` renders conversations with tools. Throws `CHAT_TEMPLATE_MISSING`, and `CHAT_TEMPLATE_INVALID` also
   * for a text that is the same whatever the messages are.
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
   * The template that a user gives: the text of one, the name of a variant in the file, or the name of one that is known
   * here. Throws as `read`.
   */
  static given(
    text: string,
    metadata: TokenizerMetadata,
    tokenizer: Tokenizer,
    logger: Logger = silentLogger,
  ): ChatTemplate {
    const isName = !JINJA.test(text) && !Object.hasOwn(NAMED, text);
    if (isName) return ChatTemplate.read(metadata, tokenizer, text, logger);
    return new ChatTemplate(templateOf(text), tokensOf(tokenizer), { logger });
  }

  /** The text of `renderSpans`. */
  render(messages: readonly TemplateMessage[], options: ChatRenderOptions = {}): string {
    return this.renderSpans(messages, options).text;
  }

  /**
   * The conversation as the model reads it, and which of its characters the template wrote. Throws `CHAT_TEMPLATE_REJECTED`
   * where the template refuses the conversation, `CHAT_TEMPLATE_FAILED` where it breaks.
   */
  renderSpans(messages: readonly TemplateMessage[], options: ChatRenderOptions = {}): Rendered {
    const { addGenerationPrompt = true, tools, variables, now = new Date() } = options;
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

  /** What a template cannot do without besides messages and tools, as the models' cards give it. */
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

/** What is rendered; undefined where the template fails or refuses. */
function attempt(render: () => string): string | undefined {
  try {
    return render();
  } catch (error) {
    if (isRocmforgeError(error)) return undefined;
    throw error;
  }
}

/** The names of the templates in a GGUF file; the plain one is `default`. */
export function chatTemplateNames(metadata: TokenizerMetadata): string[] {
  const names: string[] = [];
  for (const key of metadata.keys()) {
    if (key === KEY) names.unshift('default');
    else if (key.startsWith(`${KEY}.`)) names.push(key.slice(KEY.length + 1));
  }
  return names;
}

/**
 * The ids of a rendered conversation: control tokens, and user-defined ones that are markup, are read where the template wrote
 * them, and never in what people wrote; the bos token stands first exactly once whether or not the template wrote it.
 */
export function encodeChat(tokenizer: Tokenizer, { text, written }: Rendered): number[] {
  return begun(tokenizer, tokenizer.encode(text, { addSpecial: false, parseSpecial: written }));
}

/** The same ids, encoded in turns with whatever else the thread has to do. Rejects with `ABORTED` when the signal fires. */
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
  if (Object.hasOwn(NAMED, found)) return NAMED[found] as string;
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
