import { invariant } from '../base/errors.ts';
import {
  type Bindings,
  type BufferRange,
  type Device,
  type Executable,
  type PackedWeight,
  type Program,
  type Step,
  type Stream,
  wholeOf,
} from '../device/index.ts';
import { DEFAULT_RING_BYTES, type WeightJob } from '../load/async-model-loader.ts';
import { type BatchShape, ELEMENT_BYTES, type State, type Tensor, tensorBytes } from '../ops/value.ts';
import type { TensorIndex } from './architecture.ts';
import { BatchInputs } from './batch-inputs.ts';
import { type FitPlan, fitPlan } from './fit-plan.ts';
import { LayerPlan } from './layer-plan.ts';
import { kindOf, type ModelGraphs, type ModelPart } from './model-graphs.ts';
import { PlanBuffers } from './plan-buffers.ts';

/**
 * A model compiled for one device and one batch shape: embedding, layers, head and sampling with one scratch arena. It is
 * made in three stages: `compile` chooses programs from metadata alone (and says by `fit` what memory they want),
 * `allocate` creates and binds the buffers and records the steps, and the weight jobs are loaded by the caller.
 */
export class ExecutionPlan implements AsyncDisposable {
  readonly #parts: readonly LayerPlan[];
  readonly #buffers: PlanBuffers;
  #inputs: BatchInputs | undefined;
  #steps: { forward: Step; generate: Step } | undefined;

  private constructor(
    readonly device: Device,
    readonly graphs: ModelGraphs,
    parts: readonly LayerPlan[],
  ) {
    this.#parts = parts;
    this.#buffers = new PlanBuffers(device);
  }

  /** Compiles each kind of part once. Allocates nothing. */
  static async compile(device: Device, graphs: ModelGraphs, tensors: TensorIndex): Promise<ExecutionPlan> {
    const programs = new Map<string, Program>();
    const parts: LayerPlan[] = [];
    for (const part of [graphs.embedding, ...graphs.layers, graphs.head, graphs.sampling]) {
      const kind = kindOf(part.graph);
      const program = programs.get(kind) ?? (await device.compile(part.graph));
      programs.set(kind, program);
      parts.push(new LayerPlan(part, program, tensors));
    }
    return new ExecutionPlan(device, graphs, parts);
  }

  get shape(): BatchShape {
    return this.graphs.embedding.graph.shape;
  }

  /** What `allocate` and loading will take. */
  fit(): FitPlan {
    const weights = new Map(
      this.#parts.flatMap(({ weights: all }) => all.map((w) => [w.key, w.packed.byteLength])),
    );
    const states = new Map(
      this.#parts.flatMap(({ part }) => part.graph.states.map((s) => [stateName(part, s), s])),
    );
    const stateBytes = [...states.values()].map(
      ({ type, rows, width }) => rows * width * ELEMENT_BYTES[type],
    );
    const boundaries = [...this.graphs.boundaries.values()].map((tensor) => tensorBytes(tensor, this.shape));
    const x = this.graphs.boundaries.get('x');
    const inputs = 2 * BatchInputs.byteLength(this.shape);
    return fitPlan({
      weights: sum([...weights.values()]),
      cache: sum(stateBytes),
      scratch: this.#scratchBytes() + sum(boundaries) + (x ? tensorBytes(x, this.shape) : 0) + inputs,
      staging: DEFAULT_RING_BYTES,
    });
  }

  /** Creates every buffer, binds the parts and records the steps. On failure everything created is released. */
  async allocate(): Promise<void> {
    try {
      this.#inputs = new BatchInputs(this.device, this.shape);
      const executables = this.#parts.map((part, index) => part.program.bind(this.#bindings(part, index)));
      const forward = await this.device.record(executables.slice(0, -1), 'forward');
      this.#steps = { forward, generate: await this.#recordGenerate(executables, forward) };
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** What has to be loaded, in the order of use. */
  weightJobs(): WeightJob[] {
    const jobs = new Map<string, WeightJob>();
    for (const { weights } of this.#parts) {
      for (const { packed, tensors, key } of weights) {
        if (!jobs.has(key))
          jobs.set(key, { weight: packed, target: this.#weightRange(key, packed), tensors });
      }
    }
    return [...jobs.values()];
  }

  /** The small inputs, to be written before `run`. */
  get inputs(): BatchInputs {
    invariant(this.#inputs, 'the plan is allocated');
    return this.#inputs;
  }

  /** Queues the inputs' upload and a step: `forward` ends with the logits, `generate` with the sampled tokens. */
  run(stream: Stream, step: 'forward' | 'generate'): void {
    invariant(this.#steps, 'the plan is allocated');
    stream.upload(this.inputs.pinned.bytes, this.inputs.range());
    stream.run(this.#steps[step]);
  }

  /** Where a result stands after a step: `logits`, `tokens` or `report`. */
  result(name: 'logits' | 'tokens' | 'report'): BufferRange {
    return wholeOf(this.#buffers.get(name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#steps?.forward[Symbol.dispose]();
    this.#steps?.generate[Symbol.dispose]();
    this.#steps = undefined;
    this.#inputs?.[Symbol.dispose]();
    this.#inputs = undefined;
    this.#buffers[Symbol.dispose]();
  }

  async #recordGenerate(executables: readonly Executable[], forward: Step): Promise<Step> {
    try {
      return await this.device.record(executables, 'generate');
    } catch (error) {
      forward[Symbol.dispose]();
      throw error;
    }
  }

  #scratchBytes(): number {
    return Math.max(0, ...this.#parts.map(({ program }) => program.scratchBytes));
  }

  #weightRange(key: string, packed: PackedWeight): BufferRange {
    return wholeOf(this.#buffers.create(key, packed.byteLength));
  }

  #bindings(plan: LayerPlan, index: number): Bindings {
    const { part, program, weights } = plan;
    const { graph } = program;
    const values = new Map<Tensor | State, BufferRange>();
    for (const input of graph.inputs) values.set(input, this.#inputRange(input, index));
    for (const state of graph.states) {
      const bytes = state.rows * state.width * ELEMENT_BYTES[state.type];
      values.set(state, wholeOf(this.#buffers.create(stateName(part, state), bytes)));
    }
    return {
      values,
      outputs: new Map(
        graph.outputs.map(({ name, tensor }) => [
          name,
          wholeOf(this.#buffers.create(streamName(name, index), tensorBytes(tensor, this.shape))),
        ]),
      ),
      weights: new Map(weights.map(({ packed, key }) => [packed, this.#weightRange(key, packed)])),
      scratch:
        program.scratchBytes > 0 ? wholeOf(this.#buffers.create('scratch', this.#scratchBytes())) : undefined,
    };
  }

  #inputRange(input: Tensor, index: number): BufferRange {
    const small = this.inputs.rangeOf(input, this.shape);
    return (
      small ??
      wholeOf(this.#buffers.create(streamName(input.name, index - 1), tensorBytes(input, this.shape)))
    );
  }
}

/** The residual stream goes to and fro between two buffers, so that no part reads and writes one. */
function streamName(name: string, writer: number): string {
  return name === 'x' ? `x ${writer % 2}` : name;
}

/** Layers have caches of their own; the history is one for all parts. */
function stateName(part: ModelPart, state: State): string {
  return part.prefix + state.name;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
