import { fail, invariant } from '../base/errors.ts';
import type { BufferRange, Stream } from '../device/index.ts';
import {
  type AsyncModelLoader,
  DEFAULT_RING_BYTES,
  type LoadOptions,
  type LoadReport,
} from '../load/async-model-loader.ts';
import type { LazyTensor } from '../load/lazy-tensor.ts';
import type { LoadTrace } from '../load/load-trace.ts';
import { type BatchShape, stateBytes } from '../ops/value.ts';
import { BatchInputs, type InputSlot } from './batch-inputs.ts';
import { BatchPlan, stateName, type StepKind } from './batch-plan.ts';
import { type FitPlan, fitPlan, type MemoryLimits } from './fit-plan.ts';
import type { PlannedWeight } from './layer-plan.ts';
import { ModelWeights } from './model-weights.ts';
import { PlanBuffers } from './plan-buffers.ts';
import { describeModel, type ModelSource, type PlanOptions } from './plan-options.ts';
import type { PlanParts } from './plan-parts.ts';

/** Results that a step leaves on the device. */
export type ResultName = 'logits' | 'tokens' | 'report';

/** Where a run goes. */
export interface RunOn {
  readonly stream: Stream;
  readonly batch: BatchPlan;
  readonly kind: StepKind;
  readonly input: InputSlot;
}

/**
 * A model on one device: its weights, states and scratch, used by one batch plan for each row capacity that the device
 * gains by. It is made in stages: `compile` chooses programs from metadata alone, `fit` says what memory they want,
 * `allocate` creates the buffers. Nothing is loaded then: weights come when they are first needed, or before by `preload…`
 * and `loadInBackground`. Steps are recorded at their first use.
 */
export class ExecutionPlan implements AsyncDisposable {
  readonly #buffers: PlanBuffers;
  #weights: ModelWeights | undefined;
  #trace: LoadTrace | undefined;
  #preparing: Promise<void> = Promise.resolve();

  private constructor(
    readonly parts: PlanParts,
    /** By ascending rows. */
    readonly plans: readonly BatchPlan[],
    buffers: PlanBuffers,
  ) {
    this.#buffers = buffers;
  }

  /** Compiles a plan for each row capacity. Allocates nothing. */
  static async compile(parts: PlanParts): Promise<ExecutionPlan> {
    const { device, shape, tensors } = parts;
    const buffers = new PlanBuffers(device);
    const plans = await Promise.all(
      device.rowCapacities(shape.rows).map((rows) => {
        const outputs = Math.min(rows, shape.outputs);
        return BatchPlan.compile(parts.record({ ...shape, rows, outputs }), tensors, buffers);
      }),
    );
    return new ExecutionPlan(parts, plans, buffers);
  }

  /**
   * Compiles and allocates a model of a file without loading any of it. The loader is the caller's. Rejects with
   * `ARCHITECTURE_UNKNOWN`, `MODEL_…` or `OUT_OF_MEMORY`.
   */
  static async fromGguf(
    source: ModelSource,
    loader: AsyncModelLoader,
    options: PlanOptions & MemoryLimits = {},
  ): Promise<ExecutionPlan> {
    const plan = await ExecutionPlan.compile(describeModel(source, options).parts);
    const { free } = await source.device.memory();
    const memory = Math.min(free, options.memory ?? free);
    await plan.allocate(plan.fit({ ...options, memory }), loader);
    return plan;
  }

  /** The largest batch. */
  get shape(): BatchShape {
    return this.#largest.shape;
  }

  /** Logits of a row. */
  get vocabulary(): number {
    return this.#largest.graphs.boundaries.get('logits')?.width ?? 0;
  }

  get layerCount(): number {
    return this.#largest.graphs.layers.length;
  }

  /** What `allocate` and loading will take, obeying the limits. Throws `MODEL_TOO_LARGE` where nothing does. */
  fit(limits: MemoryLimits = {}): FitPlan {
    const cache = new Set(
      this.#largest.parts.flatMap(({ part }) => part.graph.states.map((s) => part.prefix + s.name)),
    );
    const buffers = [...this.#bufferBytes()];
    const inputs = this.plans.map(({ shape }) => (1 + this.parts.inFlight) * BatchInputs.byteLength(shape));
    return fitPlan(
      {
        parts: this.#plannedWeights().map(bytesByKey),
        streamable: {
          layers: this.#largest.graphs.layers.map((_, layer) => this.#partOf(layer)),
          head: this.#head,
        },
        cache: sum(buffers.filter(([name]) => cache.has(name)).map(([, bytes]) => bytes)),
        scratch: sum(buffers.filter(([name]) => !cache.has(name)).map(([, bytes]) => bytes)) + sum(inputs),
        staging: DEFAULT_RING_BYTES,
      },
      limits,
    );
  }

  /** Creates every buffer as `fit` planned. The loader is the caller's. On failure everything created is released. */
  async allocate(fit: FitPlan, loader: AsyncModelLoader): Promise<void> {
    try {
      const parts = this.#plannedWeights();
      this.#trace = loader.trace;
      this.#weights = new ModelWeights({ parts, placement: fit.placement, buffers: this.#buffers, loader });
      for (const [name, bytes] of this.#bufferBytes()) this.#buffers.create(name, bytes);
      for (const plan of this.plans) plan.allocate(this.parts.inFlight);
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** True when every weight is on the device to stay. */
  get isGpuLoaded(): boolean {
    return this.#loaded.areResident;
  }

  /** True when some layers' weights do not stay but come anew in every step. */
  get isStreamed(): boolean {
    return this.#loaded.areStreamed;
  }

  /** Every weight, in the order of use. */
  get weights(): readonly LazyTensor[] {
    return this.#loaded.tensors;
  }

  /** True when the weights of a layer are on the device. */
  isLayerLoaded(layer: number): boolean {
    return this.#loaded.parts[this.#partOf(layer)]?.areResident ?? false;
  }

  /** Loads all weights that stay, in the order of use. Rejects as `AsyncModelLoader.load`. */
  preloadAll(options: LoadOptions = {}): Promise<LoadReport> {
    return this.preload([...this.#largest.parts.keys()], options);
  }

  /** Loads embedding, head and the first layers, as far as they stay. Rejects as `AsyncModelLoader.load`. */
  preloadLayers(count: number, options: LoadOptions = {}): Promise<LoadReport> {
    const layers = Array.from({ length: Math.min(count, this.layerCount) }, (_, layer) =>
      this.#partOf(layer),
    );
    return this.preload([EMBEDDING, ...layers, this.#head], options);
  }

  /** Loads the weights of some parts, by their numbers in the order of running, as far as they stay. */
  preload(parts: readonly number[], options: LoadOptions = {}): Promise<LoadReport> {
    return this.#loaded.preload(parts, options);
  }

  /** `preloadAll` while steps may run, each part as soon as its weights are there; the step of single tokens is recorded meanwhile. */
  async loadInBackground(options: LoadOptions = {}): Promise<LoadReport> {
    this.#preparing = this.#prepareTokenStep();
    const report = await this.preloadAll(options);
    await this.#preparing;
    return report;
  }

  /** The lazy tensor that holds a tensor of the file, loaded. Rejects with `INVALID_ARGUMENT` where the model has none. */
  async getOrLoadTensor(name: string): Promise<LazyTensor> {
    const tensor = this.#loaded.tensors.find(({ names }) => names.includes(name));
    if (!tensor) fail('INVALID_ARGUMENT', { name: 'tensor', found: name, expected: 'a weight of the model' });
    await tensor.ready();
    return tensor;
  }

  /** The embedding's weights, loaded. */
  getOrLoadEmbedding(): Promise<readonly LazyTensor[]> {
    return this.#ready(EMBEDDING);
  }

  /** The head's weights, loaded. */
  getOrLoadLmHead(): Promise<readonly LazyTensor[]> {
    return this.#ready(this.#head);
  }

  /** A layer's weights, loaded; those of a layer that is streamed may be gone again after the next step. */
  getOrLoadLayerWeights(layer: number): Promise<readonly LazyTensor[]> {
    return this.#ready(this.#partOf(layer));
  }

  /** The smallest plan that takes so many rows and outputs. */
  planFor(rows: number, outputs: number): BatchPlan {
    const plan = this.plans.find(({ shape }) => rows <= shape.rows && outputs <= shape.outputs);
    invariant(plan, `a batch of ${rows} rows and ${outputs} outputs is within the plan`);
    return plan;
  }

  /**
   * Queues the upload of an input slot and a step. While weights are still to come, part by part, each as soon as its
   * weights are on their way: the stream waits for them, the host only for what is not read yet. Resolves when all is
   * queued; rejects when weights cannot be loaded or a step cannot be recorded.
   */
  async run(on: RunOn): Promise<void> {
    const { stream, batch, kind, input } = on;
    if (!this.#loaded.areResident) return this.#runParts(on);
    if (!batch.isPrepared(kind)) await batch.prepare(kind);
    batch.upload(stream, input);
    batch.run(stream, kind);
    return undefined;
  }

  /** Queues one layer over what the part before it left, its weights loaded if they were not; rejects as `run`. */
  forwardLayer(stream: Stream, batch: BatchPlan, layer: number): Promise<void> {
    return this.#runPart(stream, batch, this.#partOf(layer));
  }

  /** Where a result stands after a step, for its output rows one behind the other. */
  result(name: ResultName): BufferRange {
    return this.#buffers.get(name);
  }

  /** Where the layers' recurrent states of a slot stand, layer by layer; empty where there are none. */
  slotRanges(slot: number): BufferRange[] {
    return this.#largest.parts.flatMap(({ part }) =>
      (part.slotStates ?? []).map((state) => {
        const byteLength = stateBytes(state) / state.rows;
        const { buffer, offset } = this.#buffers.get(stateName(part, state));
        return { buffer, offset: offset + slot * byteLength, byteLength };
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#preparing;
    for (const plan of this.plans) plan[Symbol.dispose]();
    this.#buffers[Symbol.dispose]();
  }

  get #largest(): BatchPlan {
    return this.plans.at(-1) as BatchPlan;
  }

  get #loaded(): ModelWeights {
    invariant(this.#weights, 'the plan was allocated');
    return this.#weights;
  }

  /** The head's number among the parts. */
  get #head(): number {
    return this.#partOf(this.layerCount);
  }

  /** A layer's number among the parts. */
  #partOf(layer: number): number {
    return EMBEDDING + 1 + layer;
  }

  async #ready(part: number): Promise<readonly LazyTensor[]> {
    await this.#loaded.admit(part);
    const tensors = this.#loaded.parts[part]?.tensors ?? [];
    await Promise.all(tensors.map((tensor) => tensor.ready()));
    return tensors;
  }

  /** Records what single tokens run when everything is there; what cannot be recorded says so when it is run. */
  async #prepareTokenStep(): Promise<void> {
    await this.plans[0]?.prepare('generate').catch(() => {});
  }

  async #runParts({ stream, batch, kind, input }: RunOn): Promise<void> {
    const parts = batch.partsOf(kind);
    // Many rows take long enough in each part for the next ones to come meanwhile.
    if (batch.shape.rows > 1) for (let part = 0; part < parts; part++) this.#loaded.request(part);
    batch.upload(stream, input);
    for (let part = 0; part < parts; part++) await this.#runPart(stream, batch, part);
  }

  async #runPart(stream: Stream, batch: BatchPlan, part: number): Promise<void> {
    const [events] = await Promise.all([this.#loaded.admit(part), batch.prepare(part)]);
    for (const event of events) stream.wait(event);
    if (this.#trace) {
      this.#trace.watch('compute', batch.nameOf(part), stream, () => batch.run(stream, part));
    } else batch.run(stream, part);
    this.#loaded.used(part, () => stream.record());
  }

  /** Of each part, those of all plans, each once. */
  #plannedWeights(): PlannedWeight[][] {
    return this.#largest.parts.map((_, part) => {
      const weights = this.plans.flatMap(({ parts }) => parts[part]?.weights ?? []);
      return [...new Map(weights.map((weight) => [weight.key, weight])).values()];
    });
  }

  /** Plans run one after the other and share every buffer. */
  #bufferBytes(): Map<string, number> {
    const bytes = new Map<string, number>();
    for (const plan of this.plans) {
      for (const [name, wanted] of plan.bufferBytes()) {
        bytes.set(name, Math.max(wanted, bytes.get(name) ?? 0));
      }
    }
    return bytes;
  }
}

/** The embedding's number among the parts; the layers follow. */
const EMBEDDING = 0;

function bytesByKey(weights: readonly PlannedWeight[]): Map<string, number> {
  return new Map(weights.map(({ key, packed }) => [key, packed.byteLength]));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
