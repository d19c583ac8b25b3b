import { Lifetime } from '../base/disposal.ts';
import { fail } from '../base/errors.ts';
import { silentLogger } from '../base/log.ts';
import type { Device } from '../device/index.ts';
import type { GgufFile } from '../gguf/index.ts';
import type { LoadReport } from '../load/async-model-loader.ts';
import type { ExecutionPlan } from '../plan/execution-plan.ts';
import type { FitPlan } from '../plan/memory/fit-plan.ts';
import { chooseAdapters } from '../model/lora/choose-adapters.ts';
import type { ModelConfig } from '../model/model-config.ts';
import { type CompiledModel, compileModel, planWithin } from '../plan/plan-within.ts';
import { stateOf } from '../state/state-of.ts';
import type { Cost, CostContext } from '../ops/index.ts';
import type {
  ChatMessage,
  ChatRenderOptions,
  ChatTemplate,
  Dialect,
  TextForm,
  TokenConstraint,
  Tokenizer,
} from '../text/index.ts';
import { answered } from './answered.ts';
import { ChatStream } from './chat-stream.ts';
import { detokenized, type DetokenizedOptions } from './detokenized.ts';
import { type Embedding, type EmbedOptions, pooledRows, poolingOf, unitVector } from './embedding.ts';
import { DraftProposer } from '../runtime/opening/draft-proposer.ts';
import { Engine } from './engine.ts';
import type { EngineActivity, EngineCounters } from './engine-parts.ts';
import type { PositionLogits } from '../runtime/forced-logits.ts';
import type { AnswerOptions, ChatOptions, GenerateOptions } from './generate-options.ts';
import { limitsOf, type ModelOptions, type ModelParts } from '../runtime/opening/loaded-model.ts';
import { checkCall, checkOpening } from './option-names.ts';
import { ModelKeeper } from '../runtime/opening/model-keeper.ts';
import { ModelText } from './model-text.ts';
import { besideDraft, countingDraft, planDraft, withSpeculation } from '../runtime/opening/plan-draft.ts';
import { samplingOf } from './sampling-of.ts';
import { formOf, type Held, heldTokens } from './held-text.ts';
import type { GenerateRequest, TokenStream } from '../runtime/sequence.ts';
import type { SequenceSnapshot } from '../runtime/sequence-snapshot.ts';
import { TextStream } from './text-stream.ts';

export type { ModelOptions, ModelParts } from '../runtime/opening/loaded-model.ts';

const NO_ADAPTERS: ReadonlyMap<string, number> = new Map();

/**
 * A model ready to continue texts and answer conversations, as many at once as its options say. It owns its file, its
 * decoder and, unless it shares one, its device.
 */
export class LanguageModel implements AsyncDisposable {
  readonly config: ModelConfig;
  readonly #parts: ModelParts;
  readonly #ownDraft: LanguageModel | undefined;
  readonly #keeper: ModelKeeper;
  readonly #engine: Engine;
  readonly #life = new Lifetime('the model');
  readonly #text: ModelText;

  private constructor(
    parts: ModelParts,
    options: ModelOptions,
    of: { keeper: ModelKeeper; ownDraft: LanguageModel | undefined },
  ) {
    const { keeper, ownDraft } = of;
    const { device, plan, description } = keeper.current;
    this.config = description.config;
    this.#parts = parts;
    this.#text = new ModelText(parts, options);
    this.#keeper = keeper;
    this.#ownDraft = ownDraft;
    const { restore } = keeper;
    const { logger = silentLogger, speculation, runtime, profile } = options;
    const draft = ownDraft ?? (parts.draft && 'generateTokens' in parts.draft ? parts.draft : undefined);
    const proposer = draft && new DraftProposer(draft, { vocabulary: plan.tokenIds, logger });
    const state = stateOf(this.config, description.cache);
    const on = { device, plan, state, restore };
    this.#engine = new Engine({ ...on, logger, speculation, proposer, runtime, profile });
    keeper.current.loading.then(
      () => this.#engine.rest(),
      () => {},
    );
  }

  /**
   * Plans and allocates a model, and loads it as the mode says. Rejects with `ARCHITECTURE_UNKNOWN`, `MODEL_…`,
   * `OUT_OF_MEMORY`, `ABORTED` or what reading rejects with, everything released that it created; file, device and decoder
   * stay the caller's then.
   */
  static async open(parts: ModelParts, options: ModelOptions = {}): Promise<LanguageModel> {
    checkOpening(parts, options);
    const wanted = withSpeculation(parts, options);
    let keeper: ModelKeeper | undefined;
    const ownDraft = await LanguageModel.#openDraft(parts, wanted, () => keeper?.current.device);
    try {
      keeper = await ModelKeeper.open(parts, besideDraft(wanted, ownDraft?.fit));
      return new LanguageModel(parts, wanted, { keeper, ownDraft });
    } catch (error) {
      await keeper?.current[Symbol.asyncDispose]();
      await ownDraft?.dispose();
      throw error;
    }
  }

  /**
   * Compiles a model for what `open` is to be called with, to be handed to it: all that a device can do which is being opened.
   * Rejects with `ARCHITECTURE_UNKNOWN`, `MODEL_CONFIG`, or as the device's `compile`.
   */
  static compile(parts: ModelParts, options: ModelOptions = {}): Promise<CompiledModel> {
    checkOpening(parts, options);
    return compileModel(parts, withSpeculation(parts, options));
  }

  /** Opens the draft where the parts have a source of one; `deviceOf` tells the device that the model has now. */
  static async #openDraft(
    parts: ModelParts,
    options: ModelOptions,
    deviceOf: () => Device | undefined,
  ): Promise<LanguageModel | undefined> {
    const source = parts.draft && 'generateTokens' in parts.draft ? undefined : parts.draft;
    try {
      const plan = planDraft(parts, options);
      if (!plan) return undefined;
      const reopen = async () => {
        const device = deviceOf();
        if (device && device !== draft.device) return device;
        throw new Error('the model is not there again');
      };
      const shared = plan.parts.sharesDevice && { reopen };
      const draft: LanguageModel = await LanguageModel.open({ ...plan.parts, ...shared }, plan.options);
      return draft;
    } catch (error) {
      await source?.device?.[Symbol.asyncDispose]();
      await source?.gguf.dispose();
      throw error;
    }
  }

  /**
   * The memory that `open` would take, of a draft, too, from the files' headers alone. Rejects with `MODEL_TOO_LARGE` as it
   * does.
   */
  static async fit(parts: ModelParts, options: ModelOptions = {}): Promise<FitPlan> {
    checkOpening(parts, options);
    const wanted = withSpeculation(parts, options);
    const plan = planDraft(parts, wanted);
    const draft = plan && (await LanguageModel.fit(plan.parts, plan.options));
    const isShared = plan?.parts.sharesDevice ?? false;
    const { free = Number.POSITIVE_INFINITY, ...limits } = await limitsOf(parts, besideDraft(wanted, draft));
    const left = free - (draft && isShared ? draft.onDevice : 0);
    const { fit } = await planWithin(parts, wanted, { ...limits, free: left });
    return draft ? countingDraft(fit, draft, isShared) : fit;
  }

  /** Where the memory went, in bytes. */
  get fit(): FitPlan {
    const { fit, device } = this.#keeper.current;
    const draft = this.#ownDraft;
    return draft ? countingDraft(fit, draft.fit, draft.device === device) : fit;
  }

  /**
   * Resolves with what was loaded before anything asked for it: all weights that stay in the modes `background`, `eager`
   * and `sync`, a draft's before. Rejects when that failed; what a step needs then is tried again.
   */
  get loaded(): Promise<LoadReport> {
    const { loading } = this.#keeper.current;
    return this.#ownDraft ? this.#ownDraft.loaded.then(() => loading) : loading;
  }

  /** The weights, for those who load them themselves. */
  get plan(): ExecutionPlan {
    return this.#keeper.current.plan;
  }

  /** Positions that a sequence may have. */
  get context(): number {
    return this.#engine.context;
  }

  /** The adapters that requests may choose from, and their scales for those who do not. */
  get adapters(): ReadonlyMap<string, number> {
    return this.#parts.adapters?.standard ?? NO_ADAPTERS;
  }

  /** Prompt tokens of one step. */
  get batch(): number {
    return this.plan.shape.rows;
  }

  /** Logits of a position: ids below it can be sampled. */
  get vocabulary(): number {
    return this.plan.vocabulary;
  }

  get gguf(): GgufFile {
    return this.#parts.gguf;
  }

  /** Another one after the device was lost. */
  get device(): Device {
    return this.#keeper.current.device;
  }

  /** Made at first use, so that a model without a usable tokenizer still runs on token ids. */
  get tokenizer(): Tokenizer {
    return this.#text.tokenizer;
  }

  /** The model's own chat template. Throws `CHAT_TEMPLATE_MISSING` where it has none. */
  get chatTemplate(): ChatTemplate {
    return this.#text.chatTemplate;
  }

  /** How the model writes reasoning and calls, as its chat template says. Throws as `chatTemplate`. */
  get dialect(): Dialect {
    return this.#text.dialect;
  }

  /** Continues a text or ids. Throws `INVALID_ARGUMENT`, `OPTION_UNKNOWN`, `TEXT_UNAVAILABLE`; rejects as `Engine.generate`. */
  generate(prompt: string | readonly number[], options: GenerateOptions = {}): TextStream {
    checkCall('generate', options);
    if (typeof prompt !== 'string') this.#text.requireText();
    const ids = typeof prompt === 'string' ? this.tokenizer.encode(prompt) : prompt;
    const { tokens, ...how } = this.#generate(
      ids,
      { continues: true, ...options },
      { form: formOf(options) },
    );
    return new TextStream(detokenized(tokens, how));
  }

  /** Continues token ids by token ids. Throws `DISPOSED`; the stream rejects as `Engine.generate`. */
  generateTokens(request: GenerateRequest): TokenStream {
    this.#life.check();
    return this.#engine.generate(request);
  }

  /**
   * Answers a conversation, written down by the model's own template. The answer comes as text, reasoning and calls. Throws
   * and rejects as `generate` and the template.
   */
  chat(messages: readonly ChatMessage[], options: ChatOptions = {}): ChatStream {
    checkCall('chat', options);
    return this.#answer(this.#text.encode(messages, options), options);
  }

  /**
   * Answers what `chatPrompt` has encoded; `special` leaves the answer as it is written. Throws and rejects as `generate`.
   */
  answer(prompt: readonly number[], options: AnswerOptions = {}): ChatStream {
    checkCall('answer', options);
    return this.#answer(prompt, options);
  }

  #answer(prompt: readonly number[], options: AnswerOptions): ChatStream {
    const parser = this.#text.parser(prompt, options);
    const form = this.#text.answerForm(prompt, options);
    const wrap = (made?: TokenConstraint) => this.#text.withinBudget(prompt, made, options);
    const { tokens, ...how } = this.#generate(prompt, { continues: false, ...options }, { form, wrap });
    return new ChatStream(answered(tokens, { ...how, parser }), this.dialect.idLength);
  }

  /**
   * The token ids of a conversation, as `chat` reads it; a long one is encoded in turns with whatever else the thread has to
   * do. Rejects as the template throws, and with `ABORTED` when the signal fires.
   */
  async chatPrompt(
    messages: readonly ChatMessage[],
    options: Pick<ChatOptions, keyof ChatRenderOptions | 'reasoning' | 'signal'> = {},
  ): Promise<number[]> {
    checkCall('chatPrompt', options);
    return this.#text.encodeInTurns(messages, options, options.signal);
  }

  /** What the engine is busy with. */
  get activity(): EngineActivity {
    return this.#engine.activity;
  }

  /** What the engine has done so far. */
  get counters(): EngineCounters {
    return this.#engine.counters;
  }

  /**
   * The vector of a text or token ids, of length 1 unless `normalized` is false. Rejects with `EMBEDDINGS_UNSUPPORTED` for
   * models that continue texts and encoders without a pooling kind, `CONTEXT_OVERFLOW`, or as `evaluate`.
   */
  async embed(input: string | readonly number[], options: EmbedOptions = {}): Promise<Embedding> {
    this.#life.check();
    checkCall('embed', options);
    const { signal } = options;
    const pooling = poolingOf(this.config, options);
    const turns = signal ? { signal } : {};
    const ids = typeof input === 'string' ? await this.tokenizer.encodeInTurns(input, turns) : input;
    const rows = this.evaluate(ids, 0, { signal });
    const vector = await pooledRows(rows, { pooling, width: this.config.width, count: ids.length });
    return { vector: (options.normalized ?? true) ? unitVector(vector) : vector, tokens: ids.length };
  }

  /** The logits at every position of `ids` from `from` on. */
  evaluate(
    ids: readonly number[],
    from = 0,
    options: Pick<GenerateOptions, 'signal' | 'adapters'> = {},
  ): AsyncGenerator<PositionLogits> {
    checkCall('evaluate', options);
    const { signal, adapters } = options;
    return this.#engine.evaluate(ids, from, {
      signal,
      adapters: chooseAdapters(this.#parts.adapters, adapters),
    });
  }

  /**
   * Computes `ids` and saves the state behind them, of recurrent models. Rejects with `STATE_PAGED` for others, or as
   * `generate`.
   */
  async saveState(ids: readonly number[], signal?: AbortSignal): Promise<SequenceSnapshot> {
    this.#requireRecurrent();
    return this.#engine.save(ids, signal);
  }

  /**
   * Makes a saved state ready for the next text that begins with its ids and goes on; called again, for as many as may
   * generate at once. Rejects with `STATE_PAGED`, or `INVALID_ARGUMENT` for another model's state.
   */
  async restoreState(snapshot: SequenceSnapshot): Promise<void> {
    this.#requireRecurrent();
    await this.#engine.restore(snapshot);
  }

  /** What a step moves and computes at least. */
  cost(context: CostContext): Cost {
    return this.plan.planFor(context.rows, context.outputs).cost(context);
  }

  /** Forgets what is cached of the last conversation. */
  reset(): void {
    this.#engine.reset();
  }

  /** Releases engine, plan, decoder and file, and the device unless it is shared. */
  async dispose(): Promise<void> {
    if (!this.#life.end()) return;
    // The engine's last step may wait for weights, which the loader then fails.
    const ending = this.#engine[Symbol.asyncDispose]();
    await this.#keeper.current.loader[Symbol.asyncDispose]();
    await ending;
    this.#text.forget();
    await this.#ownDraft?.dispose();
    await this.#keeper[Symbol.asyncDispose]();
    await this.#parts.decoder?.[Symbol.asyncDispose]();
    await this.gguf.dispose();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  #requireRecurrent(): void {
    this.#life.check();
    const { memory, architecture } = this.config;
    if (memory !== 'recurrent') fail('STATE_PAGED', { architecture });
  }

  #generate(
    prompt: readonly number[],
    options: GenerateOptions,
    { form, wrap = (made) => made }: Held,
  ): DetokenizedOptions & { tokens: TokenStream } {
    this.#life.check();
    if (this.config.pooling) fail('GENERATION_UNSUPPORTED', { model: this.config.architecture });
    const {
      maxTokens = Number.POSITIVE_INFINITY,
      stop = [],
      ignoreEnd = false,
      special = false,
      continues = true,
      shift,
      speculation,
      signal,
    } = options;
    const stopTokens = ignoreEnd ? new Set<number>() : this.tokenizer.special.endOfGeneration;
    const own = form ? undefined : wrap(options.constraint);
    const sampling = samplingOf(options, form !== undefined || own !== undefined);
    const adapters = chooseAdapters(this.#parts.adapters, options.adapters);
    const how = { sampling, maxTokens, stopTokens, adapters, shift, speculation, signal };
    const generate = (constraint?: TokenConstraint) => this.#engine.generate({ prompt, ...how, constraint });
    const make = (of: TextForm) => this.#text.constrain(of, { size: this.vocabulary, signal });
    const tokens = form
      ? heldTokens(
          () => make(form),
          (made) => generate(wrap(made)),
        )
      : generate(own);
    return { tokens, tokenizer: this.tokenizer, stop, special, continues };
  }
}
