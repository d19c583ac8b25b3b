import { fail, invariant } from '../base/errors.ts';
import type { BufferRange, Device, MemoryBudget, Stream } from '../device/index.ts';
import type { AsyncModelLoader, LoadOptions, LoadReport } from '../load/async-model-loader.ts';
import type { LazyTensor } from '../load/lazy-tensor.ts';
import type { LoadTrace } from '../load/load-trace.ts';
import { maskWords } from '../ops/sampling/sampling-row.ts';
import type { BatchShape } from '../ops/value.ts';
import { BatchPlan, type StepKind } from './steps/batch-plan.ts';
import type { SharedDeviceMemory } from '../load/shared-device-memory.ts';
import { type FitPlan, fitPlan, freeOf, type MemoryLimits } from './memory/fit-plan.ts';
import { fitStages, type StageDemand, stageLimits } from './memory/stage-fit.ts';
import { decodedOnDevice, ModelWeights } from './weights/model-weights.ts';
import type { ExpertCounts } from './weights/expert-weights.ts';
import { ExpertCopies } from './steps/expert-copies.ts';
import { type PartTarget, StreamedExperts } from './steps/streamed-experts.ts';
import { checkSequenceRows, noRoom, writeSequenceRows } from './sequence-rows.ts';
import { PersistentInputs } from './inputs/persistent-inputs.ts';
import type { StepInputs } from './inputs/batch-inputs.ts';
import { HostEmbedding } from './inputs/host-embedding.ts';
import { bufferSizesOf, inputSlots, memoryDemand, persistentInputs, weightsOf } from './memory-demand.ts';
import { SequenceMemory } from './memory/sequence-memory.ts';
import { checkCheckpoint } from './memory/slot-memory.ts';
import { PlanBuffers } from './memory/plan-buffers.ts';
import type { ModelSource, PlanOptions } from './parts/plan-options.ts';
import { tableName } from '../model/state-groups.ts';
import type { SequenceState } from '../state/sequence-state.ts';
import { stateOf } from '../state/state-of.ts';
import { WeightTable } from './parts/part-plan.ts';
import type { PlanSetup } from './parts/plan-setup.ts';
import type { ResultName, RunTarget } from './steps/plan-run.ts';
import { PreparedSteps } from './steps/prepared-steps.ts';
import { showTaps } from './steps/show-taps.ts';
import { describeOnStage, limitsOn } from './stage-layers.ts';

/**
 * A model on one device: its weights, states and scratch, shared by one batch plan per row capacity. It is created in
 * stages: `compile` chooses programs from metadata alone, `fit` computes their memory, `allocate` creates the buffers.
 * None of these loads weights: they are loaded on demand, or in advance by `preload…` and `loadInBackground`. Steps are
 * recorded on first use.
 */
export class ExecutionPlan implements AsyncDisposable {
  /** @internal */
  readonly setup: PlanSetup;
  /** In order of rows, ascending. @internal */
  readonly plans: readonly BatchPlan[];
  /** The recorded whole steps. @internal */
  readonly prepared: PreparedSteps;
  /** Where the states of sequences are. @internal */
  readonly states: SequenceMemory;
  readonly #buffers: PlanBuffers;
  #weights: ModelWeights | undefined;
  #experts: StreamedExperts | undefined;
  #copies: ExpertCopies | undefined;
  /** The embeddings that stay on the host. */
  readonly #hostEmbeddings: HostEmbedding[] = [];
  #kept: PersistentInputs | undefined;
  #trace: LoadTrace | undefined;
  /** The sequence that is computed part by part, and its length. */
  #own: { readonly state: SequenceState; end: number } | undefined;
  #preparing: Promise<void> = Promise.resolve();
  /** Give back what was taken of memory that is shared with others. */
  readonly #releases: (() => void)[] = [];

  private constructor(setup: PlanSetup, plans: readonly BatchPlan[], buffers: PlanBuffers) {
    this.setup = setup;
    this.plans = plans;
    this.#buffers = buffers;
    this.states = new SequenceMemory(setup, this.#largest.parts, buffers);
    this.prepared = new PreparedSteps(setup.preparedSteps);
  }

  /** Compiles a plan for each row capacity. Allocates nothing. @internal */
  static async compile(setup: PlanSetup): Promise<ExecutionPlan> {
    const { device, shape, tensors } = setup;
    const buffers = new PlanBuffers(device);
    const weights = new WeightTable(tensors);
    const capacities = setup.deterministic ? [shape.rows] : device.rowCapacities(shape.rows);
    const plans = await Promise.all(
      capacities.map((rows) => {
        const outputs = Math.min(rows, shape.outputs);
        return BatchPlan.compile(setup.record({ ...shape, rows, outputs }), weights, buffers);
      }),
    );
    for (const { part } of plans.at(-1)?.parts ?? []) {
      for (const { state, group } of part.grouped ?? []) {
        if (setup.state.groups[group]?.kind === 'slots') checkCheckpoint(state, setup.state);
      }
    }
    return new ExecutionPlan(setup, plans, buffers);
  }

  /**
   * Compiles and allocates a model of a file without loading any of it. The loader is the caller's, of the source's device, or of the
   * stage of a pipeline that has the whole model: for `gpuLayers` `all`, and for `auto`, which tries nothing less, the last one. Rejects
   * with `INVALID_ARGUMENT`, `ARCHITECTURE_UNKNOWN`, `MODEL_…` or `OUT_OF_MEMORY`.
   */
  static async fromGguf(
    source: ModelSource,
    loader: AsyncModelLoader,
    options: PlanOptions & MemoryLimits = {},
  ): Promise<ExecutionPlan> {
    const { setup } = describeOnStage(source, options);
    if (loader.device !== setup.device) {
      const expected = `one of ${setup.device.info.name}, which has the model`;
      fail('INVALID_ARGUMENT', { name: 'loader', found: `one of ${loader.device.info.name}`, expected });
    }
    const plan = await ExecutionPlan.compile(setup);
    const limits = { ...(await freeOf(source.device)), ...options };
    await plan.allocate(plan.fit(limitsOn(source, setup, limits)), loader);
    return plan;
  }

  /** The shape of the largest batch. */
  get shape(): BatchShape {
    return this.#largest.shape;
  }

  /** Size of the vocabulary: logits per row. */
  get vocabulary(): number {
    return this.#largest.graphs.boundaries.get('logits')?.width ?? 0;
  }

  /** True for a generative model; an encoder's output is not logits. */
  get generates(): boolean {
    return this.tokenIds === this.vocabulary;
  }

  /** Number of ids that the embedding knows: the number of logits, except for encoders. @internal */
  get tokenIds(): number {
    const { ops } = this.#largest.graphs.embedding.graph;
    const onHost = this.setup.hostTables?.find(({ takesVectors }) => takesVectors);
    if (onHost) return onHost.rows;
    return ops.find((op) => op.kind === 'embed')?.table.rows ?? 0;
  }

  /** Width of the residual stream. */
  get width(): number {
    return this.#largest.graphs.boundaries.get('x')?.width ?? 0;
  }

  /** Whether steps predict a draft token for each output row. @internal */
  get predicts(): boolean {
    return (this.#largest.graphs.predictor?.behindStep.length ?? 0) > 0;
  }

  get layerCount(): number {
    return this.#largest.graphs.layers.at(-1)?.order ?? 0;
  }

  /**
   * Plans the memory of `allocate` and loading within the limits. Throws `MODEL_TOO_LARGE` if the model does not fit.
   * @internal
   */
  fit(limits: MemoryLimits = {}): FitPlan {
    const { stages } = this.setup.device;
    if (stages) return fitStages(stages.map((device, stage) => this.#stageDemand(device, stage, limits)));
    // The copies of experts that a layer has stay: which ones these are is known to the device.
    const all = this.setup.hotExperts ? [] : this.#largest.graphs.layers;
    const streamable = { layers: all.map((_, piece) => EMBEDDING + 1 + piece), head: this.#head };
    return fitPlan(memoryDemand({ setup: this.setup, plans: this.plans, streamable }), limits);
  }

  /**
   * Creates every buffer as planned by `fit`; weights in shared memory get theirs on demand. The caller owns the
   * loader. On failure, everything created is released.
   * @internal
   */
  async allocate(
    fit: FitPlan,
    loader: AsyncModelLoader,
    { sharedMemory, hostMemory, signal }: AllocationOptions = {},
  ): Promise<void> {
    try {
      this.#trace = loader.trace;
      if (sharedMemory) await this.#reserve(fit, sharedMemory, signal);
      this.#takeOfHost(fit.placement.hostBytes, hostMemory);
      const parts = weightsOf(this.plans);
      this.#weights = new ModelWeights({
        parts,
        placement: fit.placement,
        buffers: this.#buffers,
        loader,
        sharedMemory,
        decodedOnDevice: await decodedOnDevice(this.setup, parts.flat()),
        onRelease: (released) => {
          this.plans.forEach((plan) => plan.forget(released));
          this.#experts?.forget(released);
        },
      });
      const { experts } = this.setup;
      const where = { loader, fit, sharedMemory };
      if (experts) this.#experts = new StreamedExperts(this.#largest, parts, { ...experts, ...where });
      const into = { buffers: this.#buffers, sharedMemory };
      if (this.setup.hotExperts) this.#copies = new ExpertCopies(this.#largest, parts, into);
      for (const [name, { bytes, stages }] of bufferSizesOf(this.plans, this.setup)) {
        this.#buffers.create(name, bytes, stages);
      }
      const slotCount = inputSlots(this.setup);
      const kept = new PersistentInputs(this.setup.device, persistentInputs(this.setup), slotCount);
      this.#kept = kept;
      for (const plan of this.plans) plan.allocate(slotCount, kept);
      const { device, hostTables = [], inFlight: slots } = this.setup;
      const { decoder } = loader;
      const { rows } = this.shape;
      for (const table of hostTables) {
        this.#hostEmbeddings.push(new HostEmbedding(device, table, { decoder, rows, slots }));
      }
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** True if every weight is on the device and will stay there. */
  get isLoaded(): boolean {
    return this.#loaded.areResident;
  }

  /** True if some layers' weights, or experts, are streamed by steps instead of staying on the device. */
  get isStreamed(): boolean {
    return this.#loaded.areStreamed || this.#experts !== undefined;
  }

  /** Every weight, in order of use. */
  get weights(): readonly LazyTensor[] {
    return this.#loaded.tensors;
  }

  /** Loads weights again whose contents have changed; nothing may run meanwhile. @internal */
  async reload(isChanged: (name: string) => boolean): Promise<void> {
    await this.#copies?.clear();
    await this.#loaded.reload(isChanged);
  }

  /** True if the weights of a layer are on the device. */
  isLayerLoaded(layer: number): boolean {
    const pieces = this.#piecesOf(layer);
    return pieces.length > 0 && pieces.every((part) => this.#loaded.parts[part]?.areResident);
  }

  /** Loads all resident weights, in order of use. Rejects as `AsyncModelLoader.load`. */
  preloadAll(options: LoadOptions = {}): Promise<LoadReport> {
    return this.preload([...this.#largest.parts.keys()], options);
  }

  /** Loads the resident weights of embedding, head and the first layers. Rejects as `AsyncModelLoader.load`. */
  preloadLayers(count: number, options: LoadOptions = {}): Promise<LoadReport> {
    const layers = Array.from({ length: Math.min(count, this.layerCount) }, (_, layer) => layer);
    const pieces = layers.flatMap((layer) => this.#piecesOf(layer));
    return this.preload([EMBEDDING, ...pieces, this.#head], options);
  }

  /** Loads the resident weights of some parts, given by their index in execution order. @internal */
  async preload(parts: readonly number[], options: LoadOptions = {}): Promise<LoadReport> {
    const [report] = await Promise.all([
      this.#loaded.preload(parts, options),
      ...(parts.includes(EMBEDDING) ? this.#hostEmbeddings.map((table) => table.load()) : []),
    ]);
    return report;
  }

  /**
   * Like `preloadAll`, but steps may run meanwhile, each part as soon as its weights are loaded; the step of single
   * tokens is recorded at the same time.
   */
  async loadInBackground(options: LoadOptions = {}): Promise<LoadReport> {
    const token = this.prepareAhead(1, this.generates ? 'generate' : 'forward');
    const [report] = await Promise.all([this.preloadAll(options), token]);
    return report;
  }

  /** The lazy tensor for a tensor of the file, loaded. Rejects with `INVALID_ARGUMENT` if the model has none. */
  async getOrLoadTensor(name: string): Promise<LazyTensor> {
    for (const [part, { tensors }] of this.#loaded.parts.entries()) {
      const tensor = tensors.find(({ names }) => names.includes(name));
      if (!tensor) continue;
      await this.#ready(part, [tensor]);
      return tensor;
    }
    return fail('INVALID_ARGUMENT', { name: 'tensor', found: name, expected: 'a weight of the model' });
  }

  /** How often chosen experts were on the device, if not all are. @internal */
  get expertCounts(): ExpertCounts | undefined {
    return (this.#experts ?? this.#copies)?.counts;
  }

  /** The embedding's weights, loaded. */
  getOrLoadEmbedding(): Promise<readonly LazyTensor[]> {
    return this.#ready(EMBEDDING);
  }

  /** The head's weights, loaded. */
  getOrLoadLmHead(): Promise<readonly LazyTensor[]> {
    return this.#ready(this.#head);
  }

  /** A layer's weights, loaded; those of a streamed layer may be gone after the next step. */
  async getOrLoadLayerWeights(layer: number): Promise<readonly LazyTensor[]> {
    const pieces = await Promise.all(this.#piecesOf(layer).map((part) => this.#ready(part)));
    return pieces.flat();
  }

  /** The smallest plan for so many rows and outputs. @internal */
  planFor(rows: number, outputs: number): BatchPlan {
    const plan = this.plans.find(({ shape }) => rows <= shape.rows && outputs <= shape.outputs);
    invariant(plan, `a batch of ${rows} rows and ${outputs} outputs is within the plan`);
    return plan;
  }

  /**
   * Queues the upload of an input slot and a step. While weights are loading, the step is queued part by part, each as
   * soon as the uploads of its weights are queued: the stream waits for these, the host only for reads. Resolves when
   * everything is queued; rejects if weights cannot be loaded or a step cannot be recorded.
   * @internal
   */
  async run(on: RunTarget): Promise<void> {
    const { stream, batch, kind, input } = on;
    const { taps, experts } = this.setup;
    if (taps || experts || on.behindPart || !this.#loaded.holdAll()) return this.#runParts(on);
    try {
      const wasRecorded = this.prepared.has(batch, kind);
      if (!wasRecorded) await batch.prepare(kind);
      await this.#fillHostRows(input);
      on.watch?.ready(wasRecorded);
      this.#upload(on);
      if (on.awaitsInputs) await stream.synchronize();
      batch.run(stream, kind);
      this.prepared.used(batch, kind, stream);
    } finally {
      this.#loaded.giveBackAll(stream);
    }
    return undefined;
  }

  /**
   * Records a whole step of so many rows ahead of time, if there is room for one that may never run. Errors surface
   * when the step is run.
   * @internal
   */
  prepareAhead(rows: number, kind: StepKind): Promise<void> {
    const batch = this.planFor(rows, Math.min(rows, this.shape.outputs));
    this.#preparing = this.#preparing.then(() => this.#recordAhead(batch, kind));
    return this.#preparing;
  }

  /**
   * Queues the embedding of rows of the plan's own sequence, to be followed by each layer and the head; returns the
   * batch plan for these rows. `first` is the position of the first row: 0 starts another sequence, otherwise it
   * continues after the last row. For plans that no engine uses; the previous step must have completed. Rejects with
   * `INVALID_ARGUMENT`, or as `run`.
   */
  async forwardEmbedding(stream: Stream, ids: readonly number[], first = 0): Promise<BatchPlan> {
    const { tokenIds, shape } = this;
    const { context } = this.setup;
    checkSequenceRows(ids, first, { rows: shape.rows, tokenIds, context, end: this.#own?.end });
    const end = first + ids.length;
    if (first === 0 || !this.#own) this.#own = { state: stateOf(this.setup.state), end: 0 };
    const { state } = this.#own;
    if (!state.reserve(OWN_SLOT, first, end)) fail('INVALID_ARGUMENT', noRoom(end, context));
    state.advance(OWN_SLOT, first, end);
    this.#own.end = end;
    const batch = this.planFor(ids.length, 1);
    const input = batch.input(0);
    const rows = { ids, slot: OWN_SLOT, first, outputs: 1, adapters: [] };
    writeSequenceRows(input, [rows], this.setup);
    this.writeTables(state, OWN_SLOT);
    await this.#fillHostRows(input);
    this.#upload({ stream, batch, input });
    await this.#runPart(stream, batch, EMBEDDING);
    return batch;
  }

  /**
   * Queues one layer on the output of the previous part, after loading its weights if necessary. Returns the location
   * of the residual stream after it: f32 [rows, width], valid until the layer after the next one runs. Rejects with
   * `INVALID_ARGUMENT`, or as `run`.
   */
  async forwardLayer(stream: Stream, batch: BatchPlan, layer: number): Promise<BufferRange> {
    const pieces = this.#piecesOf(layer);
    if (pieces.length === 0) {
      const expected = `a layer below ${this.layerCount}`;
      fail('INVALID_ARGUMENT', { name: 'layer', found: String(layer), expected });
    }
    const input = batch.input(0);
    const whole = new Set(batch.partsOf('forward'));
    for (const part of pieces) if (whole.has(part)) await this.#runPiece({ stream, batch, input }, part);
    return batch.rangeOf(pieces.at(-1) ?? EMBEDDING);
  }

  /** Queues the head. Returns the location of the last row's logits: f32 [vocabulary]. Rejects as `run`. */
  async forwardHead(stream: Stream, batch: BatchPlan): Promise<BufferRange> {
    await this.#runPart(stream, batch, this.#head);
    return batch.rangeOf(this.#head);
  }

  /** Location of a result after a step, with its output rows contiguous. @internal */
  result(name: ResultName): BufferRange {
    return this.#buffers.get(name);
  }

  /** Small inputs that stay on the device between steps. @internal */
  get kept(): PersistentInputs {
    invariant(this.#kept, 'the plan was allocated');
    return this.#kept;
  }

  /** Writes what changed in a slot's rows of the block tables. @internal */
  writeTables(state: SequenceState, slot: number): void {
    for (const [place, table] of state.tables.entries()) {
      table.takeChanges(slot, (begin, end) =>
        this.kept.write(tableName(place), begin, table.words.subarray(begin, end)),
      );
    }
  }

  /** Location of a slot's token mask: `maskWords` of the vocabulary. @internal */
  mask(slot: number): BufferRange {
    const byteLength = 4 * maskWords(this.vocabulary);
    const { buffer, offset } = this.#buffers.get('masks');
    return { buffer, offset: offset + slot * byteLength, byteLength };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#preparing;
    await this.#copies?.[Symbol.asyncDispose]();
    await this.#weights?.dispose();
    await Promise.all(this.#hostEmbeddings.map((table) => table[Symbol.asyncDispose]()));
    for (const plan of this.plans) plan[Symbol.dispose]();
    this.#kept?.[Symbol.dispose]();
    this.#kept = undefined;
    this.#buffers[Symbol.dispose]();
    for (const release of this.#releases.splice(0)) release();
  }

  get #largest(): BatchPlan {
    return this.plans.at(-1) as BatchPlan;
  }

  get #loaded(): ModelWeights {
    invariant(this.#weights, 'the plan was allocated');
    return this.#weights;
  }

  /** The head's part index. */
  get #head(): number {
    return EMBEDDING + 1 + this.#largest.graphs.layers.length;
  }

  /** A layer's part indices: one, unless it is cut into pieces. */
  #piecesOf(layer: number): number[] {
    const { layers } = this.#largest.graphs;
    return layers.flatMap(({ order }, piece) => (order === 1 + layer ? [EMBEDDING + 1 + piece] : []));
  }

  async #ready(
    part: number,
    tensors = this.#loaded.parts[part]?.tensors ?? [],
  ): Promise<readonly LazyTensor[]> {
    await this.#loaded.hold(part);
    try {
      if (this.#loaded.isStreamed(part)) await this.#loaded.admit(part);
      await Promise.all(tensors.map((tensor) => tensor.ready()));
      return tensors;
    } finally {
      this.#loaded.giveBack(part);
    }
  }

  /** What a stage of a pipeline needs, and what there is. */
  #stageDemand(device: Device, stage: number, limits: MemoryLimits): StageDemand {
    const { setup, plans } = this;
    const streamable = { layers: [], head: NO_PART };
    const demand = memoryDemand({ setup, plans, streamable }, stage);
    const { backend } = device.info;
    const own = stageLimits(limits, stage, backend === setup.device.info.backend);
    const orders = this.#largest.graphs.layers.filter(({ graph }) => graph.stage === stage);
    const layers = new Set(orders.map(({ order }) => order)).size;
    return { demand, limits: own, device: backend, ranks: device.group?.ranks ?? 1, layers };
  }

  /** Reserves the model's shared memory, except for its resident weights. */
  async #reserve(
    { onDevice, placement }: FitPlan,
    sharedMemory: SharedDeviceMemory,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { memoryRules } = this.setup.device;
    const shared = memoryRules.footprint(placement.resident.map(({ byteLength }) => byteLength));
    const bytes = onDevice - shared;
    await sharedMemory.room.reserve(bytes, signal);
    this.#releases.push(() => sharedMemory.room.free(bytes));
  }

  /** Takes host memory that stays pinned. Throws `OUT_OF_MEMORY`. */
  #takeOfHost(bytes: number, budget: MemoryBudget | undefined): void {
    if (!budget || bytes === 0) return;
    budget.take(bytes, 'experts');
    this.#releases.push(() => budget.give(bytes));
  }

  async #recordAhead(batch: BatchPlan, kind: StepKind): Promise<void> {
    if (!this.#mayPrepareAhead || batch.isPrepared(kind)) return;
    await batch.prepare(kind).then(
      () => this.prepared.addAhead(batch, kind),
      () => {},
    );
  }

  /** In shared memory, the buffers of a step may still move; streamed and tapped layers run one by one. */
  get #mayPrepareAhead(): boolean {
    const { areShared, areStreamed } = this.#loaded;
    return !this.setup.taps && !this.setup.experts && !areShared && !areStreamed && this.prepared.hasRoom;
  }

  /** The embeddings on the host that a step reads: none by the predictor alone, whose inputs stand behind the others. */
  #hostRowsOf({ index }: StepInputs): readonly HostEmbedding[] {
    return index < this.setup.inFlight ? this.#hostEmbeddings : [];
  }

  /** Decodes the rows of embeddings on the host. */
  async #fillHostRows(input: StepInputs): Promise<void> {
    await Promise.all(this.#hostRowsOf(input).map((table) => table.fill(input)));
  }

  #upload({ stream, batch, input }: Pick<RunTarget, 'stream' | 'batch' | 'input'>): void {
    this.#copies?.turn(stream, input.view('counts')[0] as number);
    batch.upload(stream, input);
    for (const table of this.#hostRowsOf(input)) {
      table.upload(stream, input, this.#buffers.get(table.input));
    }
  }

  async #runParts(on: RunTarget): Promise<void> {
    const { stream, batch, kind, input, watch, behindPart } = on;
    const parts = batch.partsOf(kind);
    await this.#fillHostRows(input);
    watch?.ready();
    // Each part takes long enough with many rows for the weights of the next ones to load meanwhile.
    if (batch.shape.rows > 1) for (const part of parts) this.#loaded.request(part);
    this.#upload(on);
    const runAll = async (): Promise<void> => {
      for (const part of parts) {
        await this.#runPiece(on, part);
        if (this.setup.taps) await showTaps(this.setup.taps, { stream, batch, part, input });
        await behindPart?.(part);
      }
    };
    await (this.#experts?.step(runAll) ?? runAll());
  }

  /** Runs a part, or what its rows have chosen of a layer's experts. */
  async #runPiece(on: PartTarget, part: number): Promise<void> {
    const run = (piece: number) => this.#runPart(on.stream, on.batch, piece);
    if (!this.#experts?.has(part)) return run(part);
    await this.#loaded.hold(part);
    try {
      await this.#experts.run(on, part, run);
    } finally {
      this.#loaded.giveBack(part);
    }
  }

  async #runPart(stream: Stream, batch: BatchPlan, part: number): Promise<void> {
    const weights = this.#loaded;
    await weights.hold(part);
    try {
      const isReady = weights.isThere(part) && batch.isPrepared(part);
      const [events] = isReady ? [[]] : await Promise.all([weights.admit(part), batch.prepare(part)]);
      for (const event of events) stream.wait(event);
      if (this.#trace) {
        this.#trace.watch('compute', batch.nameOf(part), stream, () => batch.run(stream, part));
      } else batch.run(stream, part);
      weights.used(part, stream);
    } finally {
      weights.giveBack(part);
    }
  }
}

/** What a plan shares with others, and how its allocation ends. */
interface AllocationOptions extends Pick<MemoryLimits, 'hostMemory'> {
  readonly sharedMemory?: SharedDeviceMemory | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The slot of the sequence that is computed part by part. */
const OWN_SLOT = 0;
/** The embedding's part index; the layers follow. */
const EMBEDDING = 0;
/** The index of no part. */
const NO_PART = -1;
