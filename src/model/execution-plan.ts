import { invariant } from '../base/errors.ts';
import { type BufferRange, type Device, wholeOf } from '../device/index.ts';
import { DEFAULT_RING_BYTES, type WeightJob } from '../load/async-model-loader.ts';
import { maskWords } from '../ops/sampling/sampling-row.ts';
import type { BatchShape } from '../ops/value.ts';
import type { TensorIndex } from './architecture.ts';
import { BatchInputs } from './batch-inputs.ts';
import { BatchPlan } from './batch-plan.ts';
import { type FitPlan, fitPlan } from './fit-plan.ts';
import type { ModelGraphs } from './model-graphs.ts';
import { PlanBuffers } from './plan-buffers.ts';

/** What an execution plan is compiled from. */
export interface PlanParts {
  readonly device: Device;
  readonly tensors: TensorIndex;
  /** Records the model for a batch shape. */
  record(shape: BatchShape): ModelGraphs;
  /** The largest shape. Smaller ones, where the device gains by them, have fewer rows and outputs and all else alike. */
  readonly shape: BatchShape;
  /** Steps that may be under way at once. */
  readonly inFlight: number;
}

/** Results that a step leaves on the device. */
export type ResultName = 'logits' | 'tokens' | 'report';

/**
 * A model on one device: its weights, states and scratch, used by one batch plan for each row capacity that the device
 * gains by. It is made in three stages: `compile` chooses programs from metadata alone (and says by `fit` what memory they
 * want), `allocate` creates the buffers, and the weight jobs are loaded by the caller. Steps are recorded at their first use.
 */
export class ExecutionPlan implements AsyncDisposable {
  readonly #buffers: PlanBuffers;

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

  /** The largest batch. */
  get shape(): BatchShape {
    return this.#largest.shape;
  }

  /** Logits of a row. */
  get vocabulary(): number {
    return this.#largest.graphs.boundaries.get('logits')?.width ?? 0;
  }

  /** What `allocate` and loading will take. */
  fit(): FitPlan {
    const cache = new Set(
      this.#largest.parts.flatMap(({ part }) => part.graph.states.map((s) => part.prefix + s.name)),
    );
    const buffers = [...this.#bufferBytes()];
    const inputs = this.plans.map(({ shape }) => (1 + this.parts.inFlight) * BatchInputs.byteLength(shape));
    return fitPlan({
      weights: sum([...this.#weights().values()].map(({ packed }) => packed.byteLength)),
      cache: sum(buffers.filter(([name]) => cache.has(name)).map(([, bytes]) => bytes)),
      scratch: sum(buffers.filter(([name]) => !cache.has(name)).map(([, bytes]) => bytes)) + sum(inputs),
      staging: DEFAULT_RING_BYTES,
    });
  }

  /** Creates every buffer. On failure everything created is released. */
  async allocate(): Promise<void> {
    try {
      for (const [key, { packed }] of this.#weights()) this.#buffers.create(key, packed.byteLength);
      for (const [name, bytes] of this.#bufferBytes()) this.#buffers.create(name, bytes);
      for (const plan of this.plans) plan.allocate(this.parts.inFlight);
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** What has to be loaded, in the order of use. */
  weightJobs(): WeightJob[] {
    return [...this.#weights()].map(([key, { packed, tensors }]) => ({
      weight: packed,
      target: wholeOf(this.#buffers.get(key)),
      tensors,
    }));
  }

  /** The smallest plan that takes so many rows and outputs. */
  planFor(rows: number, outputs: number): BatchPlan {
    const plan = this.plans.find(({ shape }) => rows <= shape.rows && outputs <= shape.outputs);
    invariant(plan, `a batch of ${rows} rows and ${outputs} outputs is within the plan`);
    return plan;
  }

  /** Where a result stands after a step, for its output rows one behind the other. */
  result(name: ResultName): BufferRange {
    return wholeOf(this.#buffers.get(name));
  }

  /** Where the mask of a slot's sequence stands: `maskWords` of the vocabulary. */
  mask(slot: number): BufferRange {
    const byteLength = 4 * maskWords(this.vocabulary);
    return { buffer: this.#buffers.get('masks'), offset: slot * byteLength, byteLength };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const plan of this.plans) plan[Symbol.dispose]();
    this.#buffers[Symbol.dispose]();
  }

  get #largest(): BatchPlan {
    return this.plans.at(-1) as BatchPlan;
  }

  #weights() {
    return new Map(this.plans.flatMap((plan) => [...plan.weights()]));
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

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
