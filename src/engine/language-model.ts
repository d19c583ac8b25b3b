import { Lifetime } from '../base/disposal.ts';
import { fail } from '../base/errors.ts';
import { silentLogger } from '../base/log.ts';
import type { Device } from '../device/index.ts';
import type { GgufFile } from '../gguf/index.ts';
import type { LoadReport } from '../load/async-model-loader.ts';
import type { ExecutionPlan } from '../plan/execution-plan.ts';
import type { FitPlan } from '../plan/memory/fit-plan.ts';
import { chooseAdapters, isAdapterTensor } from '../model/lora/adapter-set.ts';
import { LoraAdapter } from '../model/lora/lora-adapter.ts';
import type { ModelConfig } from '../model/model-config.ts';
import { type CompiledModel, compileModel, planToFit } from '../plan/plan-to-fit.ts';
import { stateOf } from '../state/state-of.ts';
import { type Cost, type CostContext, maskWords } from '../ops/index.ts';
import type { TokenConstraint } from '../text/index.ts';
import { allRows, pooledRows } from './embedding.ts';
import { DraftProposer } from '../runtime/opening/draft-proposer.ts';
import { Engine } from './engine.ts';
import type { EngineActivity, EngineCounters } from './engine-setup.ts';
import type { CardMemory, TokensRequest, VectorRequest } from './engine-target.ts';
import type { PositionLogits } from '../runtime/forced-logits.ts';
import { type Generation, generationAfter } from '../runtime/generation.ts';
import type { GenerateOptions } from './generate-options.ts';
import { limitsOf, type ModelOptions, type ModelSetup } from '../runtime/opening/loaded-model.ts';
import { checkCallArguments } from './call-arguments.ts';
import { checkCall, checkOpening } from './option-names.ts';
import { ModelKeeper } from '../runtime/opening/model-keeper.ts';
import { modelFingerprint } from './model-fingerprint.ts';
import { ModelText } from './model-text.ts';
import {
  besideDraft,
  withDraftMemory,
  planDraft,
  withDrafter,
  withSpeculation,
} from '../runtime/opening/plan-draft.ts';
import type { GenerateRequest, SequenceSink, TokenStream } from '../runtime/sequence.ts';
import type { SequenceSnapshot, StateShape } from '../runtime/sequence-snapshot.ts';
import { alternativesOf, type ScoredId, type ScoreOptions, scoredIds } from './score.ts';
import { TextModel } from './text-model.ts';
import { RuledTokens } from './token-rules.ts';

export type { ModelOptions, ModelSetup } from '../runtime/opening/loaded-model.ts';

const NO_ADAPTERS: ReadonlyMap<string, number> = new Map();

/**
 * A model that continues texts and answers conversations, as many concurrently as its options say. It owns its file,
 * its decoder and, unless it is shared, its device.
 */
export class LanguageModel extends TextModel {
  readonly config: ModelConfig;
  readonly #setup: ModelSetup;
  readonly #rope: ModelOptions['rope'];
  readonly #ownDraft: LanguageModel | undefined;
  readonly #keeper: ModelKeeper;
  readonly #engine: Engine;
  readonly #life = new Lifetime('the model');
  #fingerprint: Promise<string> | undefined;
  /** @internal */
  protected readonly text: ModelText;

  private constructor(
    setup: ModelSetup,
    options: ModelOptions,
    opened: { keeper: ModelKeeper; ownDraft: LanguageModel | undefined },
  ) {
    super();
    const { keeper, ownDraft } = opened;
    const { device, plan, description } = keeper.current;
    this.config = description.config;
    this.#setup = setup;
    this.#rope = options.rope;
    this.text = new ModelText(setup, options);
    this.#keeper = keeper;
    this.#ownDraft = ownDraft;
    const { restore } = keeper;
    const { logger = silentLogger, speculation, minDraftTokens, runtime, profile, onBlocks } = options;
    const draft = ownDraft ?? (setup.draft && 'generateTokens' in setup.draft ? setup.draft : undefined);
    const { minDraftProbability: minProbability = 0 } = options;
    const of = { vocabulary: plan.tokenIds, minProbability, logger };
    const proposer = draft && new DraftProposer(draft, of);
    const state = stateOf(description.setup.state);
    const on = { device, plan, state, restore };
    const drafts = { speculation, minDraftTokens, proposer };
    this.#engine = new Engine({ ...on, ...drafts, logger, runtime, profile, onBlocks });
    keeper.current.loading.then(
      () => this.#engine.rest(),
      () => {},
    );
  }

  /**
   * Plans and allocates a model, and loads it according to the load mode. Rejects with `ARCHITECTURE_UNKNOWN`,
   * `MODEL_…`, `OUT_OF_MEMORY`, `ABORTED` or with errors of reading; everything it created is then released, while
   * file, device and decoder remain the caller's.
   */
  static async open(setup: ModelSetup, options: ModelOptions = {}): Promise<LanguageModel> {
    checkOpening(setup, options);
    const source = setup.draft && 'generateTokens' in setup.draft ? undefined : setup.draft;
    try {
      const prepared = await withDrafter(setup, options);
      return await LanguageModel.#open(prepared.setup, withSpeculation(prepared.setup, prepared.options));
    } catch (error) {
      await source?.device?.[Symbol.asyncDispose]();
      await source?.gguf.dispose();
      throw error;
    }
  }

  static async #open(setup: ModelSetup, wanted: ModelOptions): Promise<LanguageModel> {
    let keeper: ModelKeeper | undefined;
    const ownDraft = await LanguageModel.#openDraft(setup, wanted, () => keeper?.current.device);
    try {
      keeper = await ModelKeeper.open(setup, wanted, ownDraft?.fit.total);
      return new LanguageModel(setup, wanted, { keeper, ownDraft });
    } catch (error) {
      await keeper?.current[Symbol.asyncDispose]();
      await ownDraft?.dispose();
      throw error;
    }
  }

  /**
   * Compiles a model ahead of `open`, which takes the result: everything that can be done while the device is still
   * being opened. Rejects with `ARCHITECTURE_UNKNOWN`, `MODEL_CONFIG`, or as the device's `compile`.
   */
  static async compile(setup: ModelSetup, options: ModelOptions = {}): Promise<CompiledModel> {
    checkOpening(setup, options);
    const prepared = await withDrafter(setup, options);
    return compileModel(prepared.setup, withSpeculation(prepared.setup, prepared.options));
  }

  /** Opens the draft model if the setup includes one; `deviceOf` returns the model's current device. */
  static async #openDraft(
    setup: ModelSetup,
    options: ModelOptions,
    deviceOf: () => Device | undefined,
  ): Promise<LanguageModel | undefined> {
    const plan = planDraft(setup, options);
    if (!plan) return undefined;
    const reopen = async () => {
      const device = deviceOf();
      if (device && device !== draft.device) return device;
      throw new Error('the model is not there again');
    };
    const shared = plan.setup.sharesDevice && { reopen };
    const draft: LanguageModel = await LanguageModel.open({ ...plan.setup, ...shared }, plan.options);
    return draft;
  }

  /**
   * The memory that `open` would use, including a draft model's, from the files' headers alone; with `alone`, if nothing
   * else used the device. Rejects with `MODEL_TOO_LARGE` like `open`.
   */
  static async fit(
    given: ModelSetup,
    givenOptions: ModelOptions = {},
    { alone = false }: { readonly alone?: boolean } = {},
  ): Promise<FitPlan> {
    checkOpening(given, givenOptions);
    const { setup, options } = await withDrafter(given, givenOptions);
    const wanted = withSpeculation(setup, options);
    const plan = planDraft(setup, wanted);
    const draft = plan && (await LanguageModel.fit(plan.setup, plan.options, { alone }));
    const isShared = plan?.setup.sharesDevice ?? false;
    const limits = await limitsOf(setup, wanted, { alone, draftMemory: draft?.total });
    const { fit } = await planToFit(setup, wanted, besideDraft(limits, isShared ? draft : undefined));
    return draft ? withDraftMemory(fit, draft, isShared) : fit;
  }

  /** Memory use, in bytes. */
  get fit(): FitPlan {
    const { fit, device } = this.#keeper.current;
    const draft = this.#ownDraft;
    return draft ? withDraftMemory(fit, draft.fit, draft.device === device) : fit;
  }

  /**
   * Resolves with a report of what was loaded in advance: all resident weights in the modes `background`, `eager` and
   * `sync`, after those of a draft model. Rejects if that failed; steps then try again to load what they need.
   */
  get loaded(): Promise<LoadReport> {
    const { loading } = this.#keeper.current;
    return this.#ownDraft ? this.#ownDraft.loaded.then(() => loading) : loading;
  }

  /** The execution plan, for loading weights by hand. */
  get plan(): ExecutionPlan {
    return this.#keeper.current.plan;
  }

  /** Maximum positions of a sequence. */
  get context(): number {
    return this.#engine.context;
  }

  /** The adapters that requests can select, with their default scales. */
  get adapters(): ReadonlyMap<string, number> {
    return this.#setup.adapters?.standard ?? NO_ADAPTERS;
  }

  /** How many adapters there is room for. */
  get maxAdapters(): number {
    return this.#setup.adapters?.count ?? 0;
  }

  /** Prompt tokens per step. */
  get batch(): number {
    return this.plan.shape.rows;
  }

  /** Size of the vocabulary: number of logits per position. */
  get vocabulary(): number {
    return this.plan.vocabulary;
  }

  get gguf(): GgufFile {
    return this.#setup.gguf;
  }

  /** The current device: a new one after a loss. */
  get device(): Device {
    return this.#keeper.current.device;
  }

  /** Continues token ids with token ids. Throws `DISPOSED`; the stream rejects as `Engine.generate`. */
  generateTokens(request: GenerateRequest): TokenStream {
    this.#life.check();
    return this.#engine.generate(request);
  }

  /** @internal */
  begin(request: TokensRequest, sink: SequenceSink): Generation {
    this.#life.check();
    const { form, answer, rules, constraint, adapters, ...others } = request;
    const rest = { ...others, adapters: () => chooseAdapters(this.adapters, adapters) };
    const { prompt, signal, stopTokens: ends } = rest;
    const held = (made: TokenConstraint | undefined) => {
      const inner = answer ? this.text.withinBudget(prompt, made, answer) : made;
      return rules ? new RuledTokens(rules, { ends, words: maskWords(this.vocabulary), inner }) : inner;
    };
    if (!form) return this.#engine.begin({ ...rest, constraint: held(constraint) }, sink);
    return generationAfter(
      () => this.text.constrain(form, { size: this.vocabulary, signal }),
      (made) => this.#engine.begin({ ...rest, constraint: held(made) }, sink),
      { failed: (error) => sink.fail(error), give: (made) => made[Symbol.dispose]() },
    );
  }

  /** Running and waiting sequences. */
  get activity(): EngineActivity {
    return this.#engine.activity;
  }

  /** Totals so far. */
  get counters(): EngineCounters {
    return this.#engine.counters;
  }

  async cards(): Promise<readonly CardMemory[]> {
    const { device } = this;
    const cards = device.devices ?? [device];
    return Promise.all(cards.map(async (card) => ({ name: card.info.name, ...(await card.memory()) })));
  }

  /** @internal */
  async vector(ids: readonly number[], { pooling, signal }: VectorRequest): Promise<Float32Array> {
    const of = { width: this.plan.vocabulary, count: ids.length };
    const { take, vector } = pooling === 'none' ? allRows(of) : pooledRows({ ...of, pooling });
    const from = pooling === 'last' ? ids.length - 1 : 0;
    const adapters = () => chooseAdapters(this.adapters, undefined);
    await this.#engine.computeRows({ ids, from, adapters, take, signal });
    return vector();
  }

  /** The logits at every position of `ids` from `from` on. */
  evaluate(
    ids: readonly number[],
    from = 0,
    options: Pick<GenerateOptions, 'signal' | 'adapters'> = {},
  ): AsyncGenerator<PositionLogits> {
    checkCall('evaluate', options);
    checkCallArguments({ ids, from });
    const { signal, adapters } = options;
    return this.#engine.evaluate(ids, from, {
      signal,
      adapters: () => chooseAdapters(this.adapters, adapters),
    });
  }

  async score(ids: readonly number[], options: ScoreOptions = {}): Promise<ScoredId[]> {
    this.#requireGenerating();
    checkCall('score', options);
    checkCallArguments({ ids });
    const { adapters, signal } = options;
    const alternatives = alternativesOf(options);
    return scoredIds(ids, this.evaluate(ids, 0, { adapters, signal }), alternatives);
  }

  async saveState(ids: readonly number[], signal?: AbortSignal): Promise<SequenceSnapshot> {
    checkCallArguments({ ids }, { signal });
    this.#requireGenerating();
    return this.#engine.save(ids, signal);
  }

  async saveSlot(slot: number, signal?: AbortSignal, tenant?: string): Promise<SequenceSnapshot> {
    checkCallArguments({ slot }, { signal, tenant });
    this.#requireGenerating();
    return this.#engine.saveSlot(slot, signal, tenant);
  }

  async eraseSlot(slot: number, signal?: AbortSignal, tenant?: string): Promise<number> {
    checkCallArguments({ slot }, { signal, tenant });
    this.#requireGenerating();
    return this.#engine.eraseSlot(slot, signal, tenant);
  }

  async restoreState(snapshot: SequenceSnapshot, slot?: number, tenant?: string): Promise<void> {
    checkCallArguments({ snapshot }, { slot, tenant });
    this.#requireGenerating();
    await this.#engine.restore(snapshot, slot, tenant);
  }

  async stateShape(length: number): Promise<StateShape> {
    checkCallArguments({ length });
    this.#requireGenerating();
    this.#fingerprint ??= modelFingerprint(this.gguf, { ...this.#setup, rope: this.#rope });
    return { fingerprint: await this.#fingerprint, sizes: this.#engine.snapshotSizes(length) };
  }

  async loadAdapter(name: string, location: string, scale = 0): Promise<void> {
    checkCallArguments({ name, location, scale });
    this.#life.check();
    const { adapters, openFile, gguf } = this.#setup;
    if (!adapters || !openFile) return fail('ADAPTER_ROOM', { adapter: name, most: 0 });
    await using file = await openFile(location);
    const tensors = new Map(gguf.tensors.map((tensor) => [tensor.name, tensor]));
    const architecture = gguf.metadata.string('general.architecture') ?? '';
    const put = await adapters.prepare(LoraAdapter.read(name, file, { architecture, tensors }), scale);
    await this.#engine.reload(() => {
      chooseAdapters(new Map([...adapters.standard, [name, scale]]));
      put();
    }, isAdapterTensor);
  }

  async unloadAdapter(name: string): Promise<void> {
    checkCallArguments({ name });
    this.#life.check();
    const { adapters } = this.#setup;
    // Throws for an unknown one before running sequences are waited for.
    chooseAdapters(this.adapters, new Map([[name, 0]]));
    await this.#engine.reload(() => adapters?.remove(name), isAdapterTensor);
  }

  async scaleAdapters(scales: ReadonlyMap<string, number>): Promise<void> {
    checkCallArguments({ scales });
    this.#life.check();
    chooseAdapters(this.adapters, scales);
    this.#setup.adapters?.rescale(scales);
  }

  /** A lower bound of what a step moves and computes. */
  cost(context: CostContext): Cost {
    return this.plan.planFor(context.rows, context.outputs).cost(context);
  }

  /** Clears the cached prefixes of earlier conversations. */
  reset(): void {
    this.#engine.reset();
  }

  /** Releases engine, plan, decoder and file, and the device unless it is shared. */
  async dispose(): Promise<void> {
    if (!this.#life.end()) return;
    // The engine's last step may be waiting for weights, which the loader then fails.
    const ending = this.#engine[Symbol.asyncDispose]();
    await this.#keeper.current.loader[Symbol.asyncDispose]();
    await ending;
    this.text.forget();
    await this.#ownDraft?.dispose();
    await this.#keeper[Symbol.asyncDispose]();
    await this.#setup.decoder?.[Symbol.asyncDispose]();
    await this.#setup.drafter?.gguf.dispose();
    await this.gguf.dispose();
  }

  /** @internal */
  protected checkAlive(): void {
    this.#life.check();
  }

  #requireGenerating(): void {
    this.#life.check();
    if (this.config.pooling) fail('GENERATION_UNSUPPORTED', { model: this.config.architecture });
  }
}
