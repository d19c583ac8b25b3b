import { invariant } from '../base/errors.ts';
import {
  type BufferRange,
  type Device,
  type PackedWeight,
  type Program,
  type Stream,
  wholeOf,
} from '../device/index.ts';
import { DEFAULT_RING_BYTES, type WeightJob } from '../load/async-model-loader.ts';
import { type BatchShape, stateBytes, tensorBytes } from '../ops/value.ts';
import type { TensorIndex } from './architecture.ts';
import { BatchInputs } from './batch-inputs.ts';
import { BatchPlan, type PlanMemory, type ResultName, stateName } from './batch-plan.ts';
import { type FitPlan, fitPlan } from './fit-plan.ts';
import { LayerPlan } from './layer-plan.ts';
import { kindOf, type ModelGraphs, type ModelPart } from './model-graphs.ts';
import { PlanBuffers } from './plan-buffers.ts';

/**
 * A model compiled for one device and the batch shapes that its steps may have: weights, caches, scratch and what passes between
 * the parts are one for all shapes. It is made in three stages: `compile` chooses programs from metadata alone (and says by `fit`
 * what memory they want), `allocate` creates and binds the buffers and records the steps, and the weight jobs are loaded by the
 * caller.
 */
export class ExecutionPlan implements AsyncDisposable {
  readonly #batches: readonly BatchPlan[];
  readonly #buffers: PlanBuffers;

  private constructor(
    readonly device: Device,
    batches: readonly BatchPlan[],
  ) {
    this.#batches = batches;
    this.#buffers = new PlanBuffers(device);
  }

  /** Compiles each kind of part of each shape once, all at the same time. `graphs` differ in nothing but the shape. Allocates nothing. */
  static async compile(
    device: Device,
    graphs: readonly ModelGraphs[],
    tensors: TensorIndex,
  ): Promise<ExecutionPlan> {
    const programs = new Map<string, Promise<Program>>();
    const layerPlan = async (part: ModelPart): Promise<LayerPlan> => {
      const kind = kindOf(part.graph);
      const program = programs.get(kind) ?? device.compile(part.graph);
      programs.set(kind, program);
      return new LayerPlan(part, await program, tensors);
    };
    const batches = await Promise.all(
      graphs.map(async (of) => {
        const parts = [of.embedding, ...of.layers, of.head, of.sampling];
        return new BatchPlan(of, await Promise.all(parts.map(layerPlan)));
      }),
    );
    return new ExecutionPlan(
      device,
      batches.sort((a, b) => a.shape.rows - b.shape.rows),
    );
  }

  /** The largest shape. */
  get shape(): BatchShape {
    return (this.#batches.at(-1) as BatchPlan).shape;
  }

  /** The plan of the smallest shape with room for so many rows and results. */
  batchFor(rows: number, outputs: number): BatchPlan {
    const fitting = this.#batches.find(({ shape }) => shape.rows >= rows && shape.outputs >= outputs);
    invariant(fitting, `a batch of ${rows} rows was planned for`);
    return fitting;
  }

  /** What `allocate` and loading will take. */
  fit(): FitPlan {
    const weights = new Map(
      this.#parts().flatMap(({ weights: all }) => all.map((w) => [w.key, w.packed.byteLength])),
    );
    const states = new Map(
      this.#parts().flatMap(({ part }) =>
        part.graph.states.map((state) => [stateName(part, state), stateBytes(state)]),
      ),
    );
    const boundaries = [...this.#boundaries()].map((name) => this.#boundaryBytes(name));
    const inputs = this.#batches.map(({ shape }) => 3 * BatchInputs.byteLength(shape));
    return fitPlan({
      weights: sum([...weights.values()]),
      cache: sum([...states.values()]),
      scratch: this.#scratchBytes() + sum(boundaries) + this.#boundaryBytes('x') + sum(inputs),
      staging: DEFAULT_RING_BYTES,
    });
  }

  /** Creates every buffer, binds the parts and records the steps. On failure everything created is released. */
  async allocate(): Promise<void> {
    const buffers = this.#buffers;
    const memory: PlanMemory = {
      weight: (key, packed) => this.#weightRange(key, packed),
      state: (name, bytes) => wholeOf(buffers.create(name, bytes)),
      boundary: (name, buffer) => wholeOf(buffers.create(buffer, this.#boundaryBytes(name))),
      scratch: () => wholeOf(buffers.create('scratch', this.#scratchBytes())),
    };
    try {
      for (const batch of this.#batches) await batch.allocate(this.device, memory);
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** What has to be loaded, in the order of use. */
  weightJobs(): WeightJob[] {
    const jobs = new Map<string, WeightJob>();
    for (const { weights } of this.#parts()) {
      for (const { packed, tensors, key } of weights) {
        if (!jobs.has(key))
          jobs.set(key, { weight: packed, target: this.#weightRange(key, packed), tensors });
      }
    }
    return [...jobs.values()];
  }

  /** Where a result stands after a step. */
  result(name: ResultName): BufferRange {
    return wholeOf(this.#buffers.get(name));
  }

  /** Queues a batch's inputs and its step; with `continued`, its rows' ids are the tokens that the step before sampled. */
  run(stream: Stream, batch: BatchPlan, how: { step: 'forward' | 'generate'; continued?: boolean }): void {
    batch.run(stream, how.step, how.continued ? this.result('tokens') : undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const batch of this.#batches) batch[Symbol.dispose]();
    this.#buffers[Symbol.dispose]();
  }

  #parts(): readonly LayerPlan[] {
    return this.#batches.flatMap(({ parts }) => parts);
  }

  #boundaries(): ReadonlySet<string> {
    return new Set(this.#batches.flatMap(({ graphs }) => [...graphs.boundaries.keys()]));
  }

  #boundaryBytes(name: string): number {
    return Math.max(
      ...this.#batches.map(({ graphs, shape }) => {
        const tensor = graphs.boundaries.get(name);
        return tensor ? tensorBytes(tensor, shape) : 0;
      }),
    );
  }

  #scratchBytes(): number {
    return Math.max(0, ...this.#parts().map(({ program }) => program.scratchBytes));
  }

  #weightRange(key: string, packed: PackedWeight): BufferRange {
    return wholeOf(this.#buffers.create(key, packed.byteLength));
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
