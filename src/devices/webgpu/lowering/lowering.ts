import { fail, invariant } from '../../../base/errors.ts';
import { alignUp } from '../../../base/bytes.ts';
import {
  BUFFER_ALIGNMENT,
  GraphLowering,
  type LaunchScratch,
  type Temporary,
} from '../../../device/index.ts';
import { type OpGraph, stateBytes, type Tensor, tensorBytes, type Weight } from '../../../ops/index.ts';
import type { GpuTarget } from '../gpu-target.ts';
import { HALVES } from '../kernels/library/halves.ts';
import type { KernelModule } from '../launching/kernel-module.ts';
import type { GroupedChoices } from './grouped-choices.ts';
import { type Argument, type LaunchPlan, type LaunchScope, type Operand, read } from './launch-plan.ts';
import type { LaunchTemplate, PlacedArgument } from './launch-template.ts';
import type { LoweredProgram } from './lowered-program.ts';
import type { WebGpuWeight } from './webgpu-weight.ts';
import type { WeightLayout } from './weight-layout.ts';

/** The memory that contains a tensor's rows, and their offset in bytes. */
export interface RowsPlace {
  readonly memory: Tensor | Temporary;
  readonly offset: number;
}

/** Collects the launches of a graph, the weights they need and the scratch they share. */
export class Lowering extends GraphLowering<WebGpuWeight> implements LaunchScope {
  readonly #launches: { readonly plan: LaunchPlan; readonly module: KernelModule }[] = [];
  /** Choices grouped by expert, by the tensor of expert ids. */
  readonly groupedChoices = new Map<Tensor, GroupedChoices>();
  readonly #joined = new Map<Operand, RowsPlace>();

  constructor(
    graph: OpGraph,
    readonly target: GpuTarget,
  ) {
    super(graph);
  }

  countOf(tensor: Tensor): number {
    return this.countIndex(tensor, 'webgpu');
  }

  get counts(): Argument {
    return { operand: this.graph.batch.counts, type: 'vec2<i32>', access: 'uniform' };
  }

  /**
   * An index tensor with one value per row, four per vector: `x[i / 4][i % 4]` in the texts. Its declared size extends
   * to the next possible range, so that kernels for similar numbers of rows have the same text.
   */
  index(tensor: Tensor): Argument {
    const vectors = alignUp(tensorBytes(tensor, this.graph.shape), BUFFER_ALIGNMENT) / 16;
    const large = 16 * vectors > this.target.uniformBytes;
    if (large || tensor.role === 'temp') return read(tensor, 'array<vec4<i32>>');
    return { operand: tensor, type: `array<vec4<i32>, ${vectors}>`, access: 'uniform' };
  }

  /** Weights laid out together; the same weights in the same layout give the same value. */
  weight(parts: readonly Weight[], layout: WeightLayout): WebGpuWeight {
    return this.weightOnce(parts, layout.name, () => layout.of(parts, this.target));
  }

  vector(weight: Weight, layout: WeightLayout): Argument {
    return this.vectors([weight], layout);
  }

  vectors(weights: readonly Weight[], layout: WeightLayout): Argument {
    const laidOut = this.weight(weights, layout);
    const [chunk] = laidOut.chunks;
    invariant(chunk && laidOut.chunks.length === 1, 'vectors fit a binding');
    return read({ kind: 'chunk', weight: laidOut, chunk });
  }

  /**
   * Lays tensors that no launch names yet one after the other, so that one binding spans them all. Gives the memory, and where each
   * one begins in bytes. None of them may be an output of the graph.
   */
  join(tensors: readonly Tensor[]): { readonly memory: Temporary; readonly offsets: readonly number[] } {
    const offsets: number[] = [];
    let end = 0;
    for (const tensor of tensors) {
      offsets.push(end);
      end += alignUp(tensorBytes(tensor, this.graph.shape), BUFFER_ALIGNMENT);
    }
    const memory = this.temporary(end);
    tensors.forEach((tensor, i) => this.#joined.set(tensor, { memory, offset: offsets[i] as number }));
    return { memory, offsets };
  }

  /** What a kernel binds to read or write a tensor among others that it was laid beside, and where in it the tensor begins. */
  rowsOf(tensor: Tensor): RowsPlace {
    return this.#joined.get(tensor) ?? { memory: tensor, offset: 0 };
  }

  launch(plan: LaunchPlan): void {
    const { name, texts, constants = {} } = plan;
    const parameters = Object.entries(plan.args).map(([parameter, { type, access }]) => ({
      name: parameter,
      type,
      access,
    }));
    const storage = parameters.filter(({ access }) => access !== 'uniform').length;
    invariant(storage <= this.target.storageBindings, `${name} binds ${storage} buffers`);
    const halves = texts.includes(HALVES) ? { NATIVE_HALVES: this.target.nativeHalves } : {};
    this.#launches.push({
      plan,
      module: { name, texts, constants: { ...constants, ...halves }, parameters },
    });
  }

  finish(): LoweredProgram {
    const argsOf = ({ args }: LaunchPlan) => Object.values(args);
    const memoryOf = ({ operand }: Argument) => this.#joined.get(operand)?.memory ?? operand;
    const scratch = this.planScratch(this.#launches.map(({ plan }) => argsOf(plan).map(memoryOf)));
    return {
      weights: this.weights,
      scratchBytes: scratch.byteLength,
      templates: this.#launches.map(({ plan, module }): LaunchTemplate => {
        const [x, y = 1, z = 1] = plan.grid;
        const args = argsOf(plan).map((arg) => this.#placed(arg, scratch));
        return { module, grid: [x, y, z], args };
      }),
    };
  }

  #bytesOf(operand: Operand): number {
    if (operand.kind === 'tensor') return tensorBytes(operand, this.graph.shape);
    if (operand.kind === 'state') return stateBytes(operand);
    return operand.kind === 'chunk' ? operand.chunk.byteLength : operand.byteLength;
  }

  #placed({ operand, access }: Argument, scratch: LaunchScratch): PlacedArgument {
    const own = this.#bytesOf(operand);
    const byteLength = access === 'uniform' ? alignUp(own, BUFFER_ALIGNMENT) : own;
    if (byteLength > this.target.bindingBytes) {
      const name = operand.kind === 'tensor' || operand.kind === 'state' ? operand.name : 'scratch';
      const why = `${byteLength} bytes are more than the ${this.target.bindingBytes} of a binding`;
      fail('OP_UNSUPPORTED', { device: 'webgpu', op: name, why });
    }
    const place = this.#joined.get(operand);
    const within = place?.offset ?? 0;
    const start = scratch.offsetOf(place?.memory ?? operand);
    const offset = start === undefined ? undefined : start + within;
    if (offset !== undefined) return { of: 'scratch', offset, byteLength };
    if (operand.kind === 'chunk') return { of: operand.weight, offset: operand.chunk.offset, byteLength };
    invariant(operand.kind !== 'temporary', 'temporaries are scratch');
    return { of: operand, offset: 0, byteLength };
  }
}
