import {
  type Bindings,
  bound,
  boundBuffers,
  type BufferRange,
  checkBindings,
  type Executable,
  type Program,
} from '../../device/index.ts';
import type { OpGraph, State, Tensor } from '../../ops/index.ts';
import type { Place } from './lowering/launch-template.ts';
import type { LoweredProgram } from './lowering/lowered-program.ts';
import type { WebGpuWeight } from './lowering/webgpu-weight.ts';
import { gpuBufferOf } from './memory/webgpu-buffer.ts';
import type { Launch } from './launching/launch.ts';

/** A program with its launches bound to memory. */
export interface WebGpuExecutable extends Executable {
  readonly launches: readonly Launch[];
}

/** A graph lowered to compiled kernels. */
export class WebGpuProgram implements Program {
  readonly #lowered: LoweredProgram;
  readonly #owns: (object: Disposable) => void;

  constructor(
    readonly graph: OpGraph,
    lowered: LoweredProgram,
    owns: (object: Disposable) => void,
  ) {
    this.#lowered = lowered;
    this.#owns = owns;
  }

  get weights(): readonly WebGpuWeight[] {
    return this.#lowered.weights;
  }

  get scratchBytes(): number {
    return this.#lowered.scratchBytes;
  }

  bind(bindings: Bindings): WebGpuExecutable {
    checkBindings(this, bindings);
    const { values, outputs, weights, scratch } = bindings;
    const buffers = boundBuffers(bindings);
    for (const buffer of buffers) this.#owns(buffer);
    const places = new Map<Tensor | State, BufferRange>(values);
    for (const { name, tensor } of this.graph.outputs) places.set(tensor, bound(outputs.get(name)));
    const rangeOf = (place: Place): BufferRange => {
      if (place === 'scratch') return bound(scratch);
      return bound('kind' in place ? places.get(place) : weights.get(place));
    };
    const launches = this.#lowered.templates.map(({ module, grid, args }): Launch => ({
      module,
      grid,
      ranges: args.map(({ of, offset, byteLength }) => {
        const range = rangeOf(of);
        return { buffer: gpuBufferOf(range), offset: range.offset + offset, byteLength };
      }),
    }));
    return { program: this, buffers, launches };
  }
}
