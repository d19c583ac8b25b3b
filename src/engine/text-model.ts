import { someAtOnce } from '../base/some-at-once.ts';
import { fail } from '../base/errors.ts';
import type { GgufFile } from '../gguf/index.ts';
import type { LoadReport } from '../load/async-model-loader.ts';
import type { DryBreakers } from '../ops/index.ts';
import { chooseAdapters } from '../model/lora/adapter-set.ts';
import type { FitSummary } from '../plan/memory/fit-plan.ts';
import { type Generation, generationAfter, tokenStream } from '../runtime/generation.ts';
import type { SequenceSink, TokenStream } from '../runtime/sequence.ts';
import type { SequenceSnapshot, StateShape } from '../runtime/sequence-snapshot.ts';
import {
  type ChatMessage,
  type ChatTemplate,
  checkDryBreakers,
  type DecodeOptions,
  type Dialect,
  type EncodeOptions,
  type TextForm,
  type Tokenizer,
  writeForm,
} from '../text/index.ts';
import { answered } from './answered.ts';
import { ChatStream } from './chat-stream.ts';
import { detokenized, type DetokenizedOptions } from './detokenized.ts';
import {
  type Embedding,
  type EmbedOptions,
  finishedVector,
  poolingOf,
  requireRows,
  type TokenEmbeddings,
} from './embedding.ts';
import type { EngineActivity, EngineCounters } from './engine-setup.ts';
import type { CardMemory, EngineTarget, TokensRequest, VectorRequest } from './engine-target.ts';
import {
  type AnswerOptions,
  type ChatOptions,
  checkNamedTokens,
  DRY_BREAKERS,
  type GenerateOptions,
  type PromptOptions,
  requestSampling,
  samplingOf,
} from './generate-options.ts';
import { formOf } from './held-text.ts';
import { type InfillPrompt, infillParts } from './infill.ts';
import type { ModelText } from './model-text.ts';
import { checkCall } from './option-names.ts';
import { describeValue, TEXTS } from '../base/option-values.ts';
import { promptIds, type PromptIds, type PromptItem } from '../runtime/prompt-items.ts';
import {
  type Classification,
  classifierOf,
  type ClassifyOptions,
  finishedScores,
  ranked,
  type Ranking,
  type RerankOptions,
} from './ranking.ts';
import type { ScoredId, ScoreOptions } from './score.ts';
import { type TextChunk, TextStream } from './text-stream.ts';
import { tokenRulesOf } from './token-rules.ts';
import { type ResultOf, valueBy } from './typed-schema.ts';

/**
 * A model that continues texts and answers conversations: the text side of an engine, wherever that runs. Templates,
 * tokenization, stop strings and answer parsing run on the caller's thread.
 */
export abstract class TextModel implements EngineTarget, AsyncDisposable {
  /** @internal */
  protected abstract readonly text: ModelText;
  abstract readonly config: EngineTarget['config'];
  abstract readonly context: number;
  abstract readonly batch: number;
  abstract readonly vocabulary: number;
  abstract readonly adapters: ReadonlyMap<string, number>;
  abstract readonly maxAdapters: number;
  abstract readonly activity: EngineActivity;
  abstract readonly counters: EngineCounters;
  abstract readonly loaded: Promise<LoadReport>;
  abstract cards(): Promise<readonly CardMemory[]>;
  abstract readonly gguf: GgufFile;
  /** Memory use, in bytes. */
  abstract readonly fit: Pick<FitSummary, 'total' | 'onDevice'>;
  readonly lost?: Promise<Error>;

  /** @internal */
  abstract begin(request: TokensRequest, sink: SequenceSink): Generation;
  /** @internal */
  abstract vector(ids: readonly number[], request: VectorRequest): Promise<Float32Array>;
  /**
   * Computes `ids` and saves the state after them: per-sequence values of recurrent layers, and the cache of other
   * layers. Rejects as `generate`.
   */
  abstract saveState(ids: readonly number[], signal?: AbortSignal): Promise<SequenceSnapshot>;
  /**
   * Saves the state that the latest text of a slot has left there, once no text is being generated. Rejects with
   * `INVALID_ARGUMENT` if the slot is empty, or there is no such slot. To a tenant (`scheduling.tenant` of texts) that is named, a
   * slot with another's text is empty.
   */
  abstract saveSlot(slot: number, signal?: AbortSignal, tenant?: string): Promise<SequenceSnapshot>;
  /** Evicts that state; resolves with the number of its positions. Rejects as `saveSlot`, but for empty slots. */
  abstract eraseSlot(slot: number, signal?: AbortSignal, tenant?: string): Promise<number>;
  /**
   * Restores a saved state for the next text that begins with its ids, in any slot or a certain one; call it once for
   * each concurrent text. It is then a text of the tenant that is named. Rejects with `INVALID_ARGUMENT` if the state is another
   * model's.
   */
  abstract restoreState(snapshot: SequenceSnapshot, slot?: number, tenant?: string): Promise<void>;
  /**
   * What identifies the model, and the sizes of a saved state of `length` positions: `writeState` and `readState` use
   * it. Rejects with errors of reading.
   */
  abstract stateShape(length: number): Promise<StateShape>;
  /**
   * The log-probability of each id but the first, behind those before it. Nothing else runs meanwhile. Rejects with
   * `GENERATION_UNSUPPORTED` for encoders, or as `generate`.
   */
  abstract score(ids: readonly number[], options?: ScoreOptions): Promise<ScoredId[]>;
  /**
   * Loads a LoRA adapter, or replaces the one of this name, once no text is being generated; cached prefixes are
   * forgotten. `scale` is for requests that select no adapters (default 0: it is not applied). Requires room
   * (`maxAdapters`). Rejects with `ADAPTER_INVALID`, `ADAPTER_ROOM`, and errors of reading.
   */
  abstract loadAdapter(name: string, location: string, scale?: number): Promise<void>;
  /** Unloads a LoRA adapter, once no text is being generated. Rejects with `INVALID_ARGUMENT` for an unknown one. */
  abstract unloadAdapter(name: string): Promise<void>;
  /**
   * Sets the scales of adapters for later requests that select none; others stay. Rejects with `INVALID_ARGUMENT` for
   * unknown adapters, or too many that apply.
   */
  abstract scaleAdapters(scales: ReadonlyMap<string, number>): Promise<void>;
  abstract reset(): void | Promise<void>;
  abstract dispose(): Promise<void>;
  /** Throws `DISPOSED`. @internal */
  protected abstract checkAlive(): void;

  /** A name for the model in APIs: its file's, without folder and extension. */
  get id(): string {
    return this.gguf.name.replace(/^.*[\\/]/s, '').replace(/\.gguf$/i, '');
  }

  /** Created on first use, so that a model without a usable tokenizer still runs on token ids. */
  get tokenizer(): Tokenizer {
    return this.text.tokenizer;
  }

  /** The model's own chat template. Throws `CHAT_TEMPLATE_MISSING` if there is none. */
  get chatTemplate(): ChatTemplate {
    return this.text.chatTemplate;
  }

  /** The sampling that the model's file recommends, which texts have by default. Throws errors of its metadata. */
  get recommendedSampling(): GenerateOptions {
    return this.text.recommendedSampling;
  }

  /** How the model writes reasoning and calls, detected from its chat template. Throws as `chatTemplate`. @internal */
  get dialect(): Dialect {
    return this.text.dialect;
  }

  /**
   * Continues a text, or ids, which may include embedding vectors, f32 [width], if the embedding is on the host. Throws
   * `INVALID_ARGUMENT`, `OPTION_UNKNOWN`, `TEXT_UNAVAILABLE`; rejects as `Engine.generate`.
   */
  generate<const S = unknown>(
    prompt: string | readonly PromptItem[],
    options: GenerateOptions<S> = {},
  ): TextStream<TextChunk, ResultOf<S>> {
    checkCall('generate', options);
    requireInput('prompt', prompt, typeof prompt === 'string' || Array.isArray(prompt));
    if (typeof prompt !== 'string') this.text.requireText();
    const items = typeof prompt === 'string' ? this.tokenizer.encode(prompt) : prompt;
    const tokens = this.#tokens(promptIds(items), options, { form: formOf(options) });
    const source = detokenized(tokens, this.#written(options, true));
    return new TextStream(source, (value) => valueBy(options.schema as S, value));
  }

  /**
   * Answers a conversation, rendered by the model's own template. The answer is parsed into text, reasoning and calls.
   * Throws and rejects as `generate` and the template.
   */
  chat<const S = unknown>(
    messages: readonly ChatMessage[],
    options: ChatOptions<S> = {},
  ): ChatStream<ResultOf<S>> {
    checkCall('chat', options);
    const { continues = options.continueFinal } = options;
    return this.#answer<S>(this.text.encode(messages, options), { ...options, continues });
  }

  /** Answers what `chatPrompt` has encoded; `special` leaves the answer unparsed. Throws and rejects as `generate`. */
  answer<const S = unknown>(
    prompt: readonly number[],
    options: AnswerOptions<S> = {},
  ): ChatStream<ResultOf<S>> {
    checkCall('answer', options);
    return this.#answer<S>(prompt, options);
  }

  /**
   * The token ids of a conversation, as `chat` uses it; a long one is encoded in slices between the thread's other
   * work. Rejects as the template throws, and with `ABORTED` when the signal fires.
   */
  async chatPrompt(messages: readonly ChatMessage[], options: PromptOptions = {}): Promise<number[]> {
    checkCall('chatPrompt', options);
    return this.text.encodeInTurns(messages, options, options.signal);
  }

  /** The text of a conversation, rendered by the model's own template. Throws as the template. */
  renderChat(messages: readonly ChatMessage[], options: PromptOptions = {}): string {
    this.checkAlive();
    checkCall('renderChat', options);
    return this.text.render(messages, options).text;
  }

  /** The token ids of a text, with those that the model expects around it unless `addSpecial` is false. */
  tokenize(text: string, options: EncodeOptions = {}): number[] {
    this.checkAlive();
    checkCall('tokenize', options);
    requireInput('text', text, typeof text === 'string');
    return this.tokenizer.encode(text, options);
  }

  /** The text of token ids. Throws `TOKEN_OUT_OF_RANGE`. */
  detokenize(ids: Iterable<number>, options: DecodeOptions = {}): string {
    this.checkAlive();
    checkCall('detokenize', options);
    requireInput('ids', ids, typeof ids !== 'string' && typeof ids?.[Symbol.iterator] === 'function');
    return this.tokenizer.decode(ids, options);
  }

  /** The number of tokens of a text, or of a conversation with all that its template adds. Rejects as `chatPrompt`. */
  async countTokens(input: string | readonly ChatMessage[], options: PromptOptions = {}): Promise<number> {
    this.checkAlive();
    checkCall('countTokens', options);
    const { signal } = options;
    const isText = typeof input === 'string';
    return (await (isText ? this.#idsOf(input, signal) : this.chatPrompt(input, options))).length;
  }

  /**
   * Fills in the gap between two texts, with a model that was trained for it. Throws `INFILL_UNSUPPORTED` for others; throws and
   * rejects as `generate`.
   */
  infill<const S = unknown>(
    gap: InfillPrompt,
    options: GenerateOptions<S> = {},
  ): TextStream<TextChunk, ResultOf<S>> {
    checkCall('infill', options);
    requireInput('gap', gap, typeof gap?.suffix === 'string');
    const parts = infillParts(this.tokenizer.special, gap);
    const encode = (text: string) => this.tokenizer.encode(text, { addSpecial: false });
    const ids = parts.flatMap((part) => (typeof part === 'number' ? [part] : encode(part)));
    return this.generate<S>(ids, options);
  }

  /**
   * The embedding of a text or token ids, of length 1 unless `normalized` is false. Rejects with
   * `EMBEDDINGS_UNSUPPORTED` for models that generate or rank and for those without a pooling, `CONTEXT_OVERFLOW`,
   * `INVALID_ARGUMENT`, or as `evaluate`.
   */
  async embed(input: string | readonly number[], options: EmbedOptions = {}): Promise<Embedding> {
    this.checkAlive();
    checkCall('embed', options);
    const { signal } = options;
    const pooling = poolingOf(this.config, options);
    const ids = await this.#idsOf(input, signal);
    const vector = await this.vector(ids, { pooling, signal });
    return { vector: finishedVector(vector, options), tokens: ids.length };
  }

  /**
   * The rows of a text's tokens, f32 [tokens, width], as they leave the model. Rejects as `embed`, but needs no pooling.
   */
  async embedTokens(
    input: string | readonly number[],
    options: Pick<EmbedOptions, 'signal'> = {},
  ): Promise<TokenEmbeddings> {
    this.checkAlive();
    checkCall('embedTokens', options);
    const { signal } = options;
    requireRows(this.config);
    const ids = await this.#idsOf(input, signal);
    const rows = await this.vector(ids, { pooling: 'none', signal });
    const width = rows.length / ids.length;
    const vectors = ids.map((_, at) => rows.slice(at * width, (at + 1) * width));
    return { vectors, tokens: ids.length };
  }

  /**
   * Orders documents by how well they answer a query, with a model that has a classifier (a cross-encoder such as
   * bge-reranker, or Qwen3-Reranker). Rejects with `RANKING_UNSUPPORTED` for other models, `CONTEXT_OVERFLOW`,
   * `INVALID_ARGUMENT`, or as `evaluate`.
   */
  async rerank(query: string, documents: readonly string[], options: RerankOptions = {}): Promise<Ranking> {
    this.checkAlive();
    checkCall('rerank', options);
    requireInput('documents', documents, TEXTS.is(documents));
    const { isNormalized = false } = classifierOf(this.config);
    const { signal } = options;
    const { context } = this;
    const pairs: number[][] = [];
    for (const document of documents) {
      const ids = await this.text.rerankPrompt.encode(query, document, signal);
      if (ids.length > context) fail('CONTEXT_OVERFLOW', { tokens: ids.length, context });
      pairs.push(ids);
    }
    // As many as are computed together: other callers' texts take turns with these.
    const scores = await someAtOnce(pairs, this.activity.slots, async (ids) => {
      const [score = Number.NaN] = await this.#scores(ids, signal);
      return score;
    });
    const tokens = pairs.reduce((sum, ids) => sum + ids.length, 0);
    return { results: ranked(scores, options), isProbability: isNormalized, tokens };
  }

  /** The scores of a text or token ids by a model with a classifier. Rejects as `rerank`. */
  async classify(input: string | readonly number[], options: ClassifyOptions = {}): Promise<Classification> {
    this.checkAlive();
    checkCall('classify', options);
    const { labels, isNormalized = false } = classifierOf(this.config);
    const ids = await this.#idsOf(input, options.signal);
    const scores = await this.#scores(ids, options.signal);
    return { scores, labels, isProbability: isNormalized, tokens: ids.length };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  async #idsOf(
    input: string | readonly number[],
    signal: AbortSignal | undefined,
  ): Promise<readonly number[]> {
    requireInput('input', input, typeof input === 'string' || Array.isArray(input));
    return typeof input === 'string'
      ? this.tokenizer.encodeInTurns(input, { ...(signal && { signal }) })
      : input;
  }

  /** The classifier's scores of ids, of the row that it reads. */
  async #scores(ids: readonly number[], signal: AbortSignal | undefined): Promise<Float32Array> {
    const classifier = classifierOf(this.config);
    return finishedScores(await this.vector(ids, { pooling: classifier.row, signal }), classifier);
  }

  #answer<S>(prompt: readonly number[], options: AnswerOptions<S>): ChatStream<ResultOf<S>> {
    const parser = this.text.parser(prompt, options);
    const form = this.text.answerForm(prompt, options);
    const { reasoning, tools } = options;
    const tokens = this.#tokens(promptIds(prompt), options, {
      form,
      answer: { reasoning, ...(tools && { tools }) },
    });
    const written = this.#written(options, false);
    return new ChatStream(answered(tokens, { ...written, parser }), {
      idLength: this.dialect.idLength,
      read: (value) => valueBy(options.schema as S, value),
    });
  }

  #breakers({ drySequenceBreakers = DRY_BREAKERS }: GenerateOptions): Promise<DryBreakers> {
    return this.text.dryBreakers(drySequenceBreakers);
  }

  #written(options: GenerateOptions, isContinued: boolean): DetokenizedOptions {
    const { stop: strings = [], includeStop: isIncluded = false, minTokens: from = 0 } = options;
    const { special = false, continues = isContinued } = options;
    return { tokenizer: this.tokenizer, stop: { strings, isIncluded, from }, special, continues };
  }

  #tokens(
    { ids: prompt, vectors }: PromptIds,
    options: GenerateOptions,
    held: { readonly form: TextForm | undefined } & Pick<TokensRequest, 'answer'>,
  ): TokenStream {
    this.checkAlive();
    if (this.config.pooling) fail('GENERATION_UNSUPPORTED', { model: this.config.architecture });
    const { maxTokens = Number.POSITIVE_INFINITY, ignoreEnd = false } = options;
    const { constraint, shift, speculation, scheduling, cacheSalt, signal } = options;
    const ownEnds = ignoreEnd ? [] : this.tokenizer.special.endOfGeneration;
    const stopTokens = new Set([...ownEnds, ...(options.stopTokens ?? [])]);
    const { form, answer } = held;
    const rules = tokenRulesOf(options, this.vocabulary);
    const isHeld = form ?? constraint ?? rules ?? answer?.reasoning?.budget;
    const given = { ...this.text.recommendedSampling, ...definedOf(options) };
    const sampled = samplingOf(given, isHeld !== undefined);
    checkNamedTokens(options.namedTokens ?? [], this.vocabulary);
    checkDryBreakers(options.drySequenceBreakers ?? []);
    const { adapters } = options;
    // The engine does it again when it begins: they may come and go until then.
    chooseAdapters(this.adapters, adapters);
    const { onPrompt } = options;
    const reportsPrompt = onPrompt !== undefined;
    const how = { maxTokens, stopTokens, adapters, constraint, shift, speculation, reportsPrompt };
    const request = { prompt, vectors, ...how, scheduling, cacheSalt, signal, answer, rules };
    if (!form && !sampled.dry) {
      const sampling = requestSampling(sampled, new Map());
      return tokenStream((sink) => this.begin({ ...request, ...sampling }, sink), onPrompt);
    }
    const prepare = async () => ({
      form: form && (await writeForm(form)),
      ...requestSampling(sampled, sampled.dry ? await this.#breakers(options) : new Map()),
    });
    return tokenStream(
      (sink) =>
        generationAfter(prepare, (made) => this.begin({ ...request, ...made }, sink), {
          failed: (error) => sink.fail(error),
        }),
      onPrompt,
    );
  }
}

/** The options that have a value. */
function definedOf(options: GenerateOptions): GenerateOptions {
  const defined: Record<string, unknown> = {};
  for (const name of Object.keys(options)) {
    const value = options[name as keyof GenerateOptions];
    if (value !== undefined) defined[name] = value;
  }
  return defined;
}

/** What each input of a model's methods is, in words. */
const INPUTS = {
  prompt: 'a text, or a list of token ids',
  text: 'a text',
  gap: 'an object with the texts prefix and suffix',
  input: 'a text, or a list of token ids',
  ids: 'token ids in a list or another iterable',
  documents: 'a list of texts',
} as const;

/** Throws `INVALID_ARGUMENT` for an input of another type than TypeScript allows. */
function requireInput(name: keyof typeof INPUTS, value: unknown, isRight: boolean): void {
  if (isRight) return;
  fail('INVALID_ARGUMENT', { name, found: describeValue(value), expected: INPUTS[name] });
}
