import { invariant } from '../../base/errors.ts';
import {
  type Bindings,
  type BufferRange,
  type Device,
  type DeviceEvent,
  type Program,
  type Step,
  type Stream,
} from '../../device/index.ts';
import { type Cost, type CostContext, costOf, type OpGraph } from '../../ops/index.ts';
import { type BatchShape, type State, stateBytes, type Tensor, tensorBytes } from '../../ops/value.ts';
import { BatchInputs, type ReadInputs, type StepInputs } from '../inputs/batch-inputs.ts';
import type { PersistentInputs } from '../inputs/persistent-inputs.ts';
import { HOST_LAYER_ROWS, HOST_ROWS } from '../../model/embedding-place.ts';
import { EARLIER_SUM, EXPERT_SLOTS, type ExpertPiece, GROUP_WEIGHTS } from '../../model/expert-place.ts';
import { BufferSizes } from '../memory/buffer-sizes.ts';
import { PartPlan, type WeightTable } from '../parts/part-plan.ts';
import {
  areOfOneKind,
  type ModelGraphs,
  type ModelPart,
  partsOf,
  predictorParts,
  stateName,
} from '../../model/model-graphs.ts';
import type { PlanBuffers } from '../memory/plan-buffers.ts';

/** A named value. */
interface TapPlace {
  readonly name: string;
  readonly tensor: Tensor;
}

/** The pieces that run only if not all chosen experts have slots at once, or if experts are loaded ahead. */
const OTHER_ROLES: ReadonlySet<ExpertPiece['role']> = new Set(['likely', 'first', 'more', 'after']);

/** The inputs of parts that are written between or before them, and kept between parts. */
const WRITTEN: ReadonlySet<string> = new Set([
  HOST_ROWS,
  HOST_LAYER_ROWS,
  EXPERT_SLOTS,
  GROUP_WEIGHTS,
  EARLIER_SUM,
]);

/** The values that consecutive parts read and write by one name: the residual streams of the model and of a drafter. */
const STREAMS: ReadonlySet<string> = new Set(['x', 'drafted']);

/** The outputs that parts pass on: the residual stream, and logits from the head. */
const RESULTS: readonly string[] = ['x', 'logits'];

/**
 * The extent of a step: `forward` ends with the logits, `generate` with the sampled tokens; if the model's predictor
 * runs, both also compute its state. `predict` adds a draft for each output row; `drafts` is a step of the predictor
 * alone, which continues its drafts or fills masks.
 */
export type StepKind = (typeof STEP_KINDS)[number];

const STEP_KINDS = ['forward', 'generate', 'predict', 'drafts'] as const;

/**
 * A model compiled for one batch shape: embedding, layers, head and sampling, whose buffers belong to the execution
 * plan, with the small inputs and the steps of this shape.
 */
export class BatchPlan implements Disposable {
  /** @internal */
  readonly device: Device;
  /** @internal */
  readonly graphs: ModelGraphs;
  /** @internal */
  readonly parts: readonly PartPlan[];
  /** @internal */
  readonly buffers: PlanBuffers;
  #inputs: BatchInputs | undefined;
  /** The inputs of all shapes that stay on the device between steps. */
  #kept: PersistentInputs | undefined;
  readonly #steps = new Map<StepKind | number, Promise<Step>>();
  readonly #ready = new Map<StepKind | number, Step>();
  /** Steps that were released and may still be running. */
  readonly #leaving = new Set<Step>();

  private constructor(device: Device, graphs: ModelGraphs, parts: readonly PartPlan[], buffers: PlanBuffers) {
    this.device = device;
    this.graphs = graphs;
    this.parts = parts;
    this.buffers = buffers;
  }

  /**
   * Compiles each distinct graph once, all concurrently; its buffers will be taken from `buffers`. Allocates nothing.
   * @internal
   */
  static async compile(graphs: ModelGraphs, weights: WeightTable, buffers: PlanBuffers): Promise<BatchPlan> {
    const { device } = buffers;
    const kinds: { readonly graph: OpGraph; readonly program: Promise<Program> }[] = [];
    const compile = (graph: OpGraph): Promise<Program> => {
      const known = kinds.find((kind) => areOfOneKind(kind.graph, graph));
      if (known) return known.program;
      const program = device.compile(graph);
      kinds.push({ graph, program });
      return program;
    };
    const plan = async (part: ModelPart) => new PartPlan(part, await compile(part.graph), weights);
    const parts = await Promise.all(partsOf(graphs).map(plan));
    return new BatchPlan(device, graphs, parts, buffers);
  }

  get shape(): BatchShape {
    return this.graphs.embedding.graph.shape;
  }

  /** A lower bound of what a step that samples moves and computes. */
  cost(context: CostContext): Cost {
    const parts = this.partsOf('generate').map((part) => this.parts[part] as PartPlan);
    const costs = parts.flatMap(({ part }) => part.graph.ops.map((op) => costOf(op, context)));
    return costs.reduce((a, b) => ({ bytes: a.bytes + b.bytes, flops: a.flops + b.flops }));
  }

  /** Every buffer of this shape, excluding weights and inputs. @internal */
  bufferSizes(): BufferSizes {
    const sizes = new BufferSizes();
    // Parts run one after another and share their scratch; pieces of unequal layers may hand on values of one name.
    for (const { part, program } of this.parts) {
      const { graph, order } = part;
      const add = (name: string, bytes: number) => sizes.add(name, bytes, graph.stage);
      if (program.scratchBytes > 0) add(scratchName(graph), program.scratchBytes);
      for (const state of graph.states) add(stateName(part, state), stateBytes(state));
      for (const input of graph.inputs) {
        if (WRITTEN.has(input.name)) add(input.name, tensorBytes(input, this.shape));
        else sizes.use(streamName(input.name, order - 1), graph.stage);
      }
      for (const { name, tensor } of graph.outputs) {
        add(streamName(name, order), tensorBytes(tensor, this.shape));
      }
    }
    return sizes;
  }

  /** The names of the inputs that its graphs read. @internal */
  get readInputs(): ReadInputs {
    const names = this.parts.flatMap(({ part }) => part.graph.inputs.map(({ name }) => name));
    return { shape: this.shape, names: new Set(names) };
  }

  /**
   * Creates the small inputs for `inFlight` steps, except those kept on the device. Throws `OUT_OF_MEMORY`.
   * @internal
   */
  allocate(inFlight: number, kept: PersistentInputs): void {
    this.#kept = kept;
    this.#inputs = new BatchInputs(this.device, this.readInputs, inFlight);
  }

  /**
   * One of the input buffers that `allocate` created, in which a step's inputs stay until the step is done.
   * @internal
   */
  input(index: number): StepInputs {
    const input = this.#inputs?.slots[index];
    invariant(input, `input slot ${index} was allocated`);
    return input;
  }

  /** The indices of the parts that a step of this kind runs, in order. @internal */
  partsOf(kind: StepKind): readonly number[] {
    const { layers, predictor } = this.graphs;
    const ends = layers.length + 3;
    const parts = Array.from({ length: ends }, (_, part) => part);
    // What runs in place of the whole is up to the experts that the rows choose.
    const own = parts.filter((part) => !OTHER_ROLES.has(this.expertsOf(part)?.role ?? 'route'));
    const added = predictorParts(predictor);
    const indices = (of: readonly ModelPart[] = []) => of.map((part) => ends + added.indexOf(part));
    const state = indices(predictor?.state);
    if (kind === 'forward') return [...own.slice(0, -1), ...state];
    if (kind === 'generate') return [...own, ...state];
    invariant(predictor, `a step that is to ${kind} has a predictor`);
    return kind === 'predict'
      ? [...own, ...state, ...indices(predictor.behindStep)]
      : indices(predictor.alone);
  }

  /** The tapped values after a part, and their locations. @internal */
  tapsOf(part: number): readonly (TapPlace & { readonly range: BufferRange })[] {
    const planned = this.parts[part]?.part;
    return (planned?.taps ?? []).map(({ name, output, tensor }) => {
      const range = this.buffers.get(streamName(output, planned?.order ?? 0));
      return { name, tensor, range };
    });
  }

  /** A part's output and its location; undefined for a piece of a part, and for sampling. @internal */
  resultOf(part: number): (TapPlace & { readonly range: BufferRange }) | undefined {
    const { graph, order } = this.parts[part]?.part ?? {};
    const output = graph?.outputs.find(({ name }) => RESULTS.includes(name));
    return output && { ...output, range: this.buffers.get(streamName(output.name, order ?? 0)) };
  }

  /** The location of a part's output. @internal */
  rangeOf(part: number): BufferRange {
    const result = this.resultOf(part);
    invariant(result, `${this.nameOf(part)} hands something on`);
    return result.range;
  }

  /** What a part, by its index, computes of a layer whose experts are streamed. @internal */
  expertsOf(part: number): ExpertPiece | undefined {
    return this.parts[part]?.part.experts;
  }

  /** A part's name, by its index. @internal */
  nameOf(part: number): string {
    return this.parts[part]?.part.name ?? '';
  }

  /**
   * Binds and records a step, or a single part by its index, on the first call; it can be run once this resolves.
   * @internal
   */
  async prepare(step: StepKind | number): Promise<void> {
    if (this.#ready.has(step)) return;
    const recording = this.#steps.get(step) ?? this.#record(step);
    this.#steps.set(step, recording);
    try {
      this.#ready.set(step, await recording);
    } catch (error) {
      // The next call tries again.
      this.#steps.delete(step);
      throw error;
    }
  }

  /**
   * Disposes recordings that use the weights of some parts, whose memory is about to be freed. None of them is running.
   * @internal
   */
  forget(parts: readonly number[]): void {
    for (const step of [...STEP_KINDS, ...parts]) {
      this.#ready.get(step)?.[Symbol.dispose]();
      this.#ready.delete(step);
      this.#steps.delete(step);
    }
  }

  /** @internal */
  isPrepared(step: StepKind | number): boolean {
    return this.#ready.has(step);
  }

  /** Queues the upload of an input slot, and of changes to the kept inputs. @internal */
  upload(stream: Stream, input: StepInputs): void {
    invariant(this.#inputs && this.#kept, 'the inputs were allocated');
    stream.upload(input.pinned.bytes, this.#inputs.range());
    this.#kept.upload(stream, input.index);
  }

  /** Queues a prepared step, or a prepared part. @internal */
  run(stream: Stream, step: StepKind | number): void {
    const ready = this.#ready.get(step);
    invariant(ready, 'the step is prepared');
    stream.run(ready);
  }

  /** Drops a step, unless it was dropped with its weights; it is disposed once `queued` is reached. @internal */
  release(step: StepKind | number, queued: DeviceEvent): void {
    const ready = this.#ready.get(step);
    if (!ready) return;
    this.#ready.delete(step);
    this.#steps.delete(step);
    this.#leaving.add(ready);
    const end = () => {
      if (this.#leaving.delete(ready)) ready[Symbol.dispose]();
    };
    queued.completed().then(end, end);
  }

  [Symbol.dispose](): void {
    for (const step of [...this.#ready.values(), ...this.#leaving]) step[Symbol.dispose]();
    this.#ready.clear();
    this.#leaving.clear();
    this.#steps.clear();
    this.#inputs?.[Symbol.dispose]();
    this.#inputs = undefined;
  }

  #record(step: StepKind | number): Promise<Step> {
    const indices = typeof step === 'number' ? [step] : this.partsOf(step);
    const parts = indices.map((index) => this.parts[index] as PartPlan);
    const executables = parts.map((part) => part.program.bind(this.#bindings(part)));
    const label = typeof step === 'number' ? this.nameOf(step) : step;
    return this.device.record(executables, `${label} ${this.shape.rows}`);
  }

  #bindings({ part, program, weights }: PartPlan): Bindings {
    const { graph } = program;
    const whole = (name: string) => this.buffers.get(name);
    const values = new Map<Tensor | State, BufferRange>();
    for (const input of graph.inputs) {
      const small = this.#inputs?.rangeOf(input, this.shape);
      const kept = this.#kept?.rangeOf(input.name, tensorBytes(input, this.shape));
      values.set(input, small ?? kept ?? whole(streamName(input.name, part.order - 1)));
    }
    for (const state of graph.states) values.set(state, whole(stateName(part, state)));
    return {
      values,
      outputs: new Map(graph.outputs.map(({ name }) => [name, whole(streamName(name, part.order))])),
      weights: new Map([...weights].map(([packed, { range }]) => [packed, range])),
      scratch: program.scratchBytes > 0 ? whole(scratchName(graph)) : undefined,
    };
  }
}

/** Parts of one device share their scratch. */
function scratchName({ stage }: OpGraph): string {
  return stage === undefined ? 'scratch' : `scratch of stage ${stage}`;
}

/** A residual stream alternates between two buffers, so that no part reads and writes the same one. */
function streamName(name: string, writer: number): string {
  return STREAMS.has(name) ? `${name} ${writer % 2}` : name;
}
