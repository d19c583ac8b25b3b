import { invariant } from '../base/errors.ts';
import type { Bindings, BufferRange, Device, PackedWeight, Step, Stream } from '../device/index.ts';
import { type Cost, type CostContext, costOf } from '../ops/index.ts';
import { type BatchShape, type State, stateBytes, type Tensor } from '../ops/value.ts';
import { BatchInputs } from './batch-inputs.ts';
import type { LayerPlan } from './layer-plan.ts';
import type { ModelGraphs, ModelPart } from './model-graphs.ts';

/** What a step leaves behind for the host. */
export type ResultName = 'logits' | 'tokens' | 'report';

/** The memory that all batch shapes of a model share, created when it is first asked for. */
export interface PlanMemory {
  weight(key: string, packed: PackedWeight): BufferRange;
  state(name: string, byteLength: number): BufferRange;
  /** What passes between parts, in the buffer of that name. */
  boundary(name: string, buffer: string): BufferRange;
  scratch(): BufferRange;
}

/** The parts of a model, embedding to sampling, compiled for one batch shape, with the step's inputs. */
export class BatchPlan implements Disposable {
  #inputs: BatchInputs | undefined;
  #steps: { forward: Step; generate: Step } | undefined;

  constructor(
    readonly graphs: ModelGraphs,
    readonly parts: readonly LayerPlan[],
  ) {}

  get shape(): BatchShape {
    return this.graphs.embedding.graph.shape;
  }

  /** Binds the parts to the shared memory and records the steps. What was created on failure goes with disposal. */
  async allocate(device: Device, memory: PlanMemory): Promise<void> {
    this.#inputs = new BatchInputs(device, this.shape);
    const executables = this.parts.map((part, index) =>
      part.program.bind(this.#bindings(part, index, memory)),
    );
    const forward = await device.record(executables.slice(0, -1), 'forward');
    try {
      this.#steps = { forward, generate: await device.record(executables, 'generate') };
    } catch (error) {
      forward[Symbol.dispose]();
      throw error;
    }
  }

  /** What a step moves and computes at least. */
  cost(context: CostContext): Cost {
    const costs = this.parts.flatMap(({ part }) => part.graph.ops.map((op) => costOf(op, context)));
    return costs.reduce((a, b) => ({ bytes: a.bytes + b.bytes, flops: a.flops + b.flops }));
  }

  /** The small inputs of the next step, to be written before `run`, which may still read those of the step before. */
  get inputs(): BatchInputs {
    invariant(this.#inputs, 'the plan is allocated');
    return this.#inputs;
  }

  /** Queues the inputs' upload, the ids' copy from `tokens` if there is one, and a step. */
  run(stream: Stream, step: 'forward' | 'generate', tokens: BufferRange | undefined): void {
    invariant(this.#steps, 'the plan is allocated');
    const { inputs } = this;
    stream.upload(inputs.pinned.bytes, inputs.range());
    if (tokens) {
      const [rows = 0] = inputs.view('counts');
      const ids = inputs.idsRange(rows);
      stream.copy({ ...tokens, byteLength: ids.byteLength }, ids);
    }
    stream.run(this.#steps[step]);
    inputs.turn();
  }

  [Symbol.dispose](): void {
    this.#steps?.forward[Symbol.dispose]();
    this.#steps?.generate[Symbol.dispose]();
    this.#steps = undefined;
    this.#inputs?.[Symbol.dispose]();
    this.#inputs = undefined;
  }

  #bindings(plan: LayerPlan, index: number, memory: PlanMemory): Bindings {
    const { part, program, weights } = plan;
    const { graph } = program;
    const values = new Map<Tensor | State, BufferRange>();
    for (const input of graph.inputs) {
      const small = this.inputs.rangeOf(input, this.shape);
      values.set(input, small ?? memory.boundary(input.name, streamName(input.name, index - 1)));
    }
    for (const state of graph.states) {
      values.set(state, memory.state(stateName(part, state), stateBytes(state)));
    }
    return {
      values,
      outputs: new Map(
        graph.outputs.map(({ name }) => [name, memory.boundary(name, streamName(name, index))]),
      ),
      weights: new Map(weights.map(({ packed, key }) => [packed, memory.weight(key, packed)])),
      scratch: program.scratchBytes > 0 ? memory.scratch() : undefined,
    };
  }
}

/** The residual stream goes to and fro between two buffers, so that no part reads and writes one. */
function streamName(name: string, writer: number): string {
  return name === 'x' ? `x ${writer % 2}` : name;
}

/** Layers have caches of their own; the history is one for all parts. */
export function stateName(part: ModelPart, state: State): string {
  return part.prefix + state.name;
}
