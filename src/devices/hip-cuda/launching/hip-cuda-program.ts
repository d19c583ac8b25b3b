import {
  type Address,
  type Bindings,
  bound,
  boundBuffers,
  checkBindings,
  type Executable,
  type PackedWeight,
  type Program,
} from '../../../device/index.ts';
import type { OpGraph, State, Tensor } from '../../../ops/index.ts';
import { addressOf } from '../memory/hip-cuda-buffer.ts';
import type { LoweredGraph } from './kernel-set.ts';
import type { Launch } from './launch.ts';

/** A program with its launches at their addresses. */
export interface HipCudaExecutable extends Executable {
  readonly launches: readonly Launch[];
}

/** A graph lowered to compiled and loaded kernels. */
export class HipCudaProgram implements Program {
  readonly #lowered: LoweredGraph;
  readonly #owns: (object: Disposable) => void;

  constructor(
    readonly graph: OpGraph,
    lowered: LoweredGraph,
    owns: (object: Disposable) => void,
  ) {
    this.#lowered = lowered;
    this.#owns = owns;
  }

  get weights(): readonly PackedWeight[] {
    return this.#lowered.weights;
  }

  get scratchBytes(): number {
    return this.#lowered.scratchBytes;
  }

  bind(bindings: Bindings): HipCudaExecutable {
    checkBindings(this, bindings);
    const { values, outputs, weights, scratch } = bindings;
    const buffers = boundBuffers(bindings);
    for (const buffer of buffers) this.#owns(buffer);
    const addresses = new Map<Tensor | State, Address>();
    for (const [value, range] of values) addresses.set(value, addressOf(range));
    for (const { name, tensor } of this.graph.outputs) {
      addresses.set(tensor, addressOf(bound(outputs.get(name))));
    }
    const launches = this.#lowered.launches({
      of: (value) => addresses.get(value),
      weight: (weight) => addressOf(bound(weights.get(weight))),
      scratch: scratch ? addressOf(scratch) : 0,
    });
    return { program: this, buffers, launches };
  }
}
