import { fail, isRocmforgeError } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import { inTurns, type Steps } from '../base/turns.ts';
import type { GgufFile } from '../gguf/index.ts';
import type { DryBreakers } from '../ops/index.ts';
import {
  AnswerParser,
  type ChatMessage,
  type ChatRenderOptions,
  ChatTemplate,
  checkConversation,
  type ConstrainedVocabulary,
  type ConstraintMaker,
  createTokenizer,
  type Dialect,
  dialectOf,
  dryBreakers,
  encodeChat,
  encodeChatInTurns,
  isThinkingRequested,
  LocalConstraints,
  PLAIN,
  reasoningVariables,
  RerankPrompt,
  type Rendered,
  type TextForm,
  thinksByDefault,
  type TokenConstraint,
  type Tokenizer,
} from '../text/index.ts';
import type { AnswerOptions, ChatOptions, GenerateOptions } from './generate-options.ts';
import { answerFormOf } from './held-text.ts';
import type { ModelOptions, ModelSetup } from '../runtime/opening/loaded-model.ts';
import { ReasoningBudget } from './reasoning-budget.ts';
import { recommendedSampling } from './sampling-defaults.ts';

/** How a conversation is rendered. */
type WriteOptions = ChatRenderOptions & Pick<ChatOptions, 'reasoning' | 'continueFinal'>;

/** Number of tokens at a prompt's end that determine how the answer begins. */
const PROMPT_END = 48;

/** Lists of DRY's breakers whose ids are kept. */
const KEPT_BREAKERS = 8;

/** Characters at its end that do. */
const PROMPT_CHARACTERS = 256;

/** The parts from which a model's text handling is made. */
export interface ModelTextSetup {
  readonly gguf: GgufFile;
  readonly tokenizer?: Tokenizer | undefined;
  readonly constraints?: ConstraintMaker | undefined;
  /** What the model's repository recommends; what the file recommends itself counts more. */
  readonly sampling?: ModelSetup['sampling'];
}

/** A model's tokenizer, chat template and dialect, each created on first use. */
export class ModelText {
  readonly #gguf: GgufFile;
  readonly #logger: Logger;
  readonly #constraints: ConstraintMaker;
  readonly #sampling: ModelSetup['sampling'];
  #vocabulary: ConstrainedVocabulary | undefined;
  #tokenizer: Tokenizer | undefined;
  #template: ChatTemplate | undefined;
  #dialect: Dialect | undefined;
  #rerankPrompt: RerankPrompt | undefined;
  #thinks: boolean | undefined;
  #recommended: GenerateOptions | undefined;
  /** Ids of DRY's breakers by their texts, the latest last. */
  readonly #breakers = new Map<string, Promise<DryBreakers>>();

  /**
   * Default: the file's own tokenizer and chat template, and constraints on this thread. Throws `CHAT_TEMPLATE_INVALID`
   * or `CHAT_TEMPLATE_MISSING` for an invalid `chatTemplate`.
   */
  constructor(
    { gguf, tokenizer, constraints = new LocalConstraints(), sampling }: ModelTextSetup,
    { chatTemplate, logger = silentLogger }: Pick<ModelOptions, 'chatTemplate' | 'logger'>,
  ) {
    this.#gguf = gguf;
    this.#tokenizer = tokenizer;
    this.#constraints = constraints;
    this.#sampling = sampling;
    this.#logger = logger;
    if (chatTemplate !== undefined) {
      this.#template = ChatTemplate.given(chatTemplate, gguf.metadata, this.tokenizer, logger);
    }
  }

  get tokenizer(): Tokenizer {
    this.#tokenizer ??= createTokenizer(this.#gguf.metadata);
    return this.#tokenizer;
  }

  /** Throws `TEXT_UNAVAILABLE` if ids cannot be decoded to text. */
  requireText(): void {
    try {
      void this.tokenizer;
    } catch (error) {
      if (!isRocmforgeError(error)) throw error;
      fail('TEXT_UNAVAILABLE', { reason: error.message }, error);
    }
  }

  /** The sampling that the file recommends, or else its repository. Throws errors of its metadata. */
  get recommendedSampling(): GenerateOptions {
    this.#recommended ??= { ...this.#sampling, ...recommendedSampling(this.#gguf.metadata) };
    return this.#recommended;
  }

  /** Throws `CHAT_TEMPLATE_MISSING` if there is none. */
  get chatTemplate(): ChatTemplate {
    this.#template ??= ChatTemplate.read(this.#gguf.metadata, this.tokenizer, undefined, this.#logger);
    return this.#template;
  }

  /** How pairs of query and document are encoded. Throws `CHAT_TEMPLATE_INVALID`. */
  get rerankPrompt(): RerankPrompt {
    this.#rerankPrompt ??= new RerankPrompt(this.#gguf.metadata, this.tokenizer);
    return this.#rerankPrompt;
  }

  /** Throws as `chatTemplate`. */
  get dialect(): Dialect {
    this.#dialect ??= dialectOf(this.chatTemplate.toolSource);
    return this.#dialect;
  }

  /** The ids of a conversation. Throws like the template. */
  encode(messages: readonly ChatMessage[], options: WriteOptions): number[] {
    return encodeChat(this.tokenizer, this.render(messages, options));
  }

  /** The same ids, rendered and encoded in slices between the thread's other work. */
  async encodeInTurns(
    messages: readonly ChatMessage[],
    options: WriteOptions,
    signal: AbortSignal | undefined,
  ): Promise<number[]> {
    const rendered = await inTurns(this.#rendering(messages, options), 'writing the conversation', signal);
    return encodeChatInTurns(this.tokenizer, rendered, signal);
  }

  /** The parser of the answer to a prompt; `special` leaves the answer unparsed. */
  parser(
    prompt: readonly number[],
    { tools = [], special = false }: Pick<ChatOptions, 'tools' | 'special'>,
  ): AnswerParser {
    if (special) return new AnswerParser(PLAIN);
    return new AnswerParser(this.dialect, { tools, prompt: this.#endOf(prompt) });
  }

  /** The form of the answer to a prompt; undefined for none. Throws `INVALID_ARGUMENT`. */
  answerForm(prompt: readonly number[], options: AnswerOptions): TextForm | undefined {
    const { chatTemplate, dialect } = this;
    const mayThink = isThinkingRequested(options.reasoning ?? {}) ?? this.#thinksByDefault;
    const end = this.#endOf(prompt);
    return answerFormOf(options, { template: chatTemplate.toolSource, dialect, prompt: end, mayThink });
  }

  /** The constraint of an answer to a prompt, with its reasoning limited to its budget. */
  withinBudget(
    prompt: readonly number[],
    constraint: TokenConstraint | undefined,
    { reasoning, tools = [] }: Pick<ChatOptions, 'reasoning' | 'tools'>,
  ): TokenConstraint | undefined {
    const { budget } = reasoning ?? {};
    if (budget === undefined) return constraint;
    const { tokenizer, dialect } = this;
    return new ReasoningBudget(budget, {
      tokenizer,
      dialect,
      prompt: this.#endOf(prompt),
      tools,
      constraint,
    });
  }

  /** The constraint for a form as written by `writeForm`. Rejects as `ConstraintMaker.constrain`. */
  constrain(
    written: string,
    of: { size: number; signal: AbortSignal | undefined },
  ): Promise<TokenConstraint> {
    this.#vocabulary ??= { tokenizer: this.tokenizer, size: of.size };
    return this.#constraints.constrain(this.#vocabulary, written, of.signal);
  }

  /**
   * The ids of DRY's breakers; the vocabulary is searched in slices between the thread's other work. Rejects with
   * `INVALID_ARGUMENT`.
   */
  async dryBreakers(texts: readonly string[]): Promise<DryBreakers> {
    const key = JSON.stringify(texts);
    const known = this.#breakers.get(key);
    const found = known ?? inTurns(dryBreakers(this.tokenizer, texts), 'looking for breakers');
    this.#breakers.delete(key);
    this.#breakers.set(key, found);
    const [oldest] = this.#breakers.keys();
    if (this.#breakers.size > KEPT_BREAKERS && oldest !== undefined) this.#breakers.delete(oldest);
    return found;
  }

  /** Releases what was cached for constraints. */
  forget(): void {
    if (this.#vocabulary) this.#constraints.forget(this.#vocabulary);
  }

  /** False if the template itself turns reasoning off, or does not turn it on. */
  get #thinksByDefault(): boolean {
    this.#thinks ??= thinksByDefault((reasoning) => {
      const { text } = this.render([{ role: 'user', content: 'Hello' }], { reasoning });
      return text;
    });
    return this.#thinks;
  }

  #endOf(prompt: readonly number[]): string {
    return this.tokenizer.decode(prompt.slice(-PROMPT_END), { special: true });
  }

  /** A template is rendered in one run, but those of several requests one after another. */
  *#rendering(messages: readonly ChatMessage[], options: WriteOptions): Steps<Rendered> {
    yield;
    return this.render(messages, options);
  }

  /** Renders a conversation. Throws like the template. */
  render(messages: readonly ChatMessage[], options: WriteOptions): Rendered {
    const { tools, reasoning, variables, continueFinal, ...rest } = options;
    if (continueFinal) return this.#renderBegun(messages, options);
    const { chatTemplate, dialect } = this;
    checkConversation(messages, chatTemplate.source);
    const switches = reasoning && reasoningVariables(chatTemplate.source, dialect, reasoning);
    const how = { ...rest, variables: { ...switches, ...variables } };
    return chatTemplate.renderSpans(messages, tools && tools.length > 0 ? { ...how, tools } : how);
  }

  /** Renders a conversation whose last message is the beginning of the answer. Throws `INVALID_ARGUMENT`. */
  #renderBegun(messages: readonly ChatMessage[], options: WriteOptions): Rendered {
    checkConversation(messages, this.chatTemplate.source);
    const last = messages.at(-1);
    if (last?.role !== 'assistant' || last.tool_calls?.length || options.addGenerationPrompt === false) {
      const found =
        last?.role === 'assistant' ? 'calls or no generation prompt' : `a message of ${last?.role}`;
      fail('INVALID_ARGUMENT', {
        name: 'continueFinal',
        found,
        expected: "the assistant's text as the last",
      });
    }
    const rendered = this.render(messages.slice(0, -1), { ...options, continueFinal: false });
    const { content, reasoning_content: reasoning = '' } = last;
    const begun = typeof content === 'string' ? content : (content ?? []).map(textOf).join('');
    const { close, forced = close } = this.dialect.reasoning;
    const isOpen = new AnswerParser(this.dialect, { prompt: rendered.text.slice(-PROMPT_CHARACTERS) })
      .isReasoning;
    if (!isOpen) return { ...rendered, text: rendered.text + begun };
    const from = rendered.text.length + reasoning.length;
    const written =
      reasoning === '' && rendered.written.at(-1) === from
        ? rendered.written.slice(0, -1)
        : [...rendered.written, from];
    const text = `${rendered.text}${reasoning}${forced}${begun}`;
    return { text, written: [...written, from + forced.length] };
  }
}

/** The text of a part of a message; parts of other kinds have none. */
function textOf({ text }: Readonly<Record<string, unknown>>): string {
  return typeof text === 'string' ? text : '';
}
