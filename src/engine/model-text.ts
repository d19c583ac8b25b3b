import type { GgufFile } from '../gguf/index.ts';
import {
  AnswerParser,
  type ChatMessage,
  type ChatRenderOptions,
  ChatTemplate,
  type ChatTool,
  createTokenizer,
  type Dialect,
  dialectOf,
  encodeChat,
  encodeChatInTurns,
  PLAIN,
  type Tokenizer,
  withToolsExplained,
} from '../text/index.ts';

/** Tokens at a prompt's end that tell how the answer begins. */
const PROMPT_END = 48;

/** A model's tokenizer, chat template and dialect, each made at its first use. */
export class ModelText {
  readonly #gguf: GgufFile;
  #tokenizer: Tokenizer | undefined;
  #template: ChatTemplate | undefined;
  #dialect: Dialect | undefined;

  /** Default: the file's own tokenizer. */
  constructor(gguf: GgufFile, tokenizer?: Tokenizer) {
    this.#gguf = gguf;
    this.#tokenizer = tokenizer;
  }

  get tokenizer(): Tokenizer {
    this.#tokenizer ??= createTokenizer(this.#gguf.metadata);
    return this.#tokenizer;
  }

  /** Throws `CHAT_TEMPLATE_MISSING` where there is none. */
  get chatTemplate(): ChatTemplate {
    this.#template ??= ChatTemplate.read(this.#gguf.metadata, this.tokenizer);
    return this.#template;
  }

  /** Throws as `chatTemplate`. */
  get dialect(): Dialect {
    this.#dialect ??= dialectOf(this.chatTemplate.source);
    return this.#dialect;
  }

  /** The ids of a conversation. Throws as the template. */
  encode(messages: readonly ChatMessage[], options: ChatRenderOptions): number[] {
    return encodeChat(this.tokenizer, this.#render(messages, options));
  }

  /** The same ids, encoded in turns with whatever else the thread has to do. */
  encodeInTurns(
    messages: readonly ChatMessage[],
    options: ChatRenderOptions,
    signal: AbortSignal | undefined,
  ): Promise<number[]> {
    return encodeChatInTurns(this.tokenizer, this.#render(messages, options), signal);
  }

  /** What takes the answer to a prompt apart; `special` leaves it as it is written. */
  parser(
    prompt: readonly number[],
    { tools = [], special = false }: { readonly tools?: readonly ChatTool[]; readonly special?: boolean },
  ): AnswerParser {
    if (special) return new AnswerParser(PLAIN);
    const end = this.tokenizer.decode(prompt.slice(-PROMPT_END), { special: true });
    return new AnswerParser(this.dialect, { tools, prompt: end });
  }

  /** A conversation as text; tools that the template knows nothing of are described in words. */
  #render(messages: readonly ChatMessage[], { tools, ...options }: ChatRenderOptions): string {
    const { chatTemplate } = this;
    if (!tools || tools.length === 0) return chatTemplate.render(messages, options);
    if (chatTemplate.source.includes('tools')) return chatTemplate.render(messages, { ...options, tools });
    return chatTemplate.render(withToolsExplained(messages, tools), options);
  }
}
