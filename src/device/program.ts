import type { TensorFormat } from '../formats/index.ts';
import type { OpGraph } from '../ops/graph.ts';
import type { State, Tensor, Weight } from '../ops/value.ts';
import type { BufferRange, DeviceBuffer } from './memory.ts';

/**
 * A weight in the form that a program needs on the device: one or several of the graph's weights, joined and laid out
 * for its kernels. `Stream.pack` fills it from the file's bytes, part by part, row by row, in any order.
 */
export interface PackedWeight {
  /** The graph's weights that it consists of, in the order of `pack`'s part numbers. */
  readonly parts: readonly Weight[];
  /** Bytes on the device. */
  readonly byteLength: number;
  /** Names the layout: `nibble32`, `f32`. Weights of one file and one layout may be shared between programs. */
  readonly layout: string;
  /** `Stream.pack` takes rows starting at a multiple of this; every chunk but the last has a multiple of it. */
  readonly rowAlignment: number;
  /**
   * True if rows handed over in this format wait on the device for a kernel that packs them, in the memory that
   * `MemoryRules.waiting` plans; false or absent if they are copied to their place.
   */
  waits?(format: TensorFormat): boolean;
  /** True for a tensor of a model's file that the device's process, another than this one, has in a copy of that. */
  hasOwn?(tensor: object): boolean;
  /** Bytes of it, the last ones, that are a dequantized copy of the rest. Absent or 0 without one. */
  readonly dequantizedBytes?: number;
  /** True if every device of a group has all of it. Absent on a single device. */
  readonly isCopied?: boolean;
  /** Which of a pipeline's stages has it. Absent on other devices. */
  readonly stage?: number;
}

/** A compiled graph. It holds no device memory of its own and may be bound any number of times. */
export interface Program {
  readonly graph: OpGraph;
  readonly weights: readonly PackedWeight[];
  /** Bytes of scratch that `bind` needs; executables that never run at the same time may share it. */
  readonly scratchBytes: number;
  /** Binds the program to addresses; cheap. Throws `BINDING` if something is missing or too small. */
  bind(bindings: Bindings): Executable;
}

/** Memory for everything in a graph that is not scratch. */
export interface Bindings {
  /** Inputs and states by value. */
  readonly values: ReadonlyMap<Tensor | State, BufferRange>;
  /** Outputs by name. They must not overlap an input that a later operator still reads. */
  readonly outputs: ReadonlyMap<string, BufferRange>;
  readonly weights: ReadonlyMap<PackedWeight, BufferRange>;
  readonly scratch: BufferRange | undefined;
}

/** A program bound to addresses, ready to be recorded. */
export interface Executable {
  readonly program: Program;
  /** The memory that it is bound to, which must outlive every step recorded from it. */
  readonly buffers: ReadonlySet<DeviceBuffer>;
}

/** A captured sequence of executables; replayed by `Stream.run`. */
export interface Step extends Disposable {
  readonly label: string;
}
