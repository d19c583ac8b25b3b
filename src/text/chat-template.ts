import { fail } from '../base/errors.ts';
import { JinjaTemplate, type Rendered, TrustedText } from '../jinja/index.ts';
import type { ChatTool, TemplateMessage } from './chat-message.ts';
import { type MessageForm, templateMessage } from './template-messages.ts';
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

/** How messages are handed over where nothing is known of the template. */
const PLAIN_FORM: MessageForm = {
  parts: 'as they are',
  strings: 'as they are',
  callArguments: 'as objects',
  nothing: null,
};

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

/**
 * Writes a conversation as the text that a model was trained on, by the model's own Jinja template. Encode the result
 * with `encodeChat`.
 */
export class ChatTemplate {
  readonly #main: JinjaTemplate;
  readonly #forTools: JinjaTemplate;

  /** Throws `CHAT_TEMPLATE_INVALID`. `toolSource` renders conversations with tools; default: `source`. */
  constructor(
    /** The Jinja source. */
    readonly source: string,
    readonly tokens: TemplateTokens = {},
    toolSource?: string,
  ) {
    this.#main = new JinjaTemplate(source);
    this.#forTools = toolSource === undefined ? this.#main : new JinjaTemplate(toolSource);
  }

  /**
   * The template of a GGUF file: `tokenizer.chat_template`, or the variant `tokenizer.chat_template.NAME`. Without a name,
   * the variant `tool_use` renders conversations with tools. Throws `CHAT_TEMPLATE_MISSING`, and `CHAT_TEMPLATE_INVALID` also
   * for a text that is the same whatever the messages are.
   */
  static read(metadata: TokenizerMetadata, tokenizer: Tokenizer, name?: string): ChatTemplate {
    const key = name === undefined || name === 'default' ? KEY : `${KEY}.${name}`;
    const source = metadata.string(key);
    if (source === undefined) {
      fail('CHAT_TEMPLATE_MISSING', {
        wanted: key,
        known: chatTemplateNames(metadata).join(', ') || 'none at all',
      });
    }
    const toolSource = name === undefined ? metadata.string(`${KEY}.tool_use`) : undefined;
    return new ChatTemplate(
      templateOf(source),
      tokensOf(tokenizer),
      toolSource === undefined ? undefined : templateOf(toolSource),
    );
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
    const all = {
      bos_token: new TrustedText(this.tokens.bosToken ?? ''),
      eos_token: new TrustedText(this.tokens.eosToken ?? ''),
      ...variables,
      messages: messages.map((message) => templateMessage(message, PLAIN_FORM)),
      tools,
      add_generation_prompt: addGenerationPrompt,
    };
    return program.render(all, now);
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
  if (/\{[{%]/.test(found)) return found;
  fail('CHAT_TEMPLATE_INVALID', { reason: `"${found.slice(0, 40)}" has no place for the messages` });
}

function tokensOf(tokenizer: Tokenizer): TemplateTokens {
  const { bos, eos } = tokenizer.special;
  return {
    bosToken: bos === undefined ? '' : tokenizer.tokenText(bos),
    eosToken: eos === undefined ? '' : tokenizer.tokenText(eos),
  };
}
