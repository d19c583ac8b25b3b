import type { TensorFormat } from '../formats/index.ts';
import type { OpGraph } from '../ops/graph.ts';
import type { State, Tensor, Weight } from '../ops/value.ts';
import type { BufferRange, DeviceBuffer } from './memory.ts';

/**
 * A weight as a program wants it on the device: one or several of the graph's weights, joined and laid out its own way.
 * `Stream.pack` fills it from the file's bytes, part by part, row by row, in any order.
 */
export interface PackedWeight {
  /** The graph's weights it is made of, in the order of `pack`'s part numbers. */
  readonly parts: readonly Weight[];
  /** Bytes on the device. */
  readonly byteLength: number;
  /** Names the layout: `nibble32`, `f32`. Weights of one file and one layout may be shared between programs. */
  readonly layout: string;
  /** `Stream.pack` takes rows from a multiple of this on; a chunk that is not the last holds a multiple of it. */
  readonly rowAlignment: number;
  /**
   * True where rows that are handed over in this format wait on the device for a kernel that lays them out, in the memory that
   * `MemoryRules.waiting` plans; false or absent where they are copied to their place.
   */
  waits?(format: TensorFormat): boolean;
}

/** A compiled graph. It holds no device memory of its own and may be bound any number of times. */
export interface Program {
  readonly graph: OpGraph;
  readonly weights: readonly PackedWeight[];
  /** Bytes of scratch that `bind` wants; executables that never run at once may share it. */
  readonly scratchBytes: number;
  /** Ties the program to addresses; cheap. Throws `BINDING` when something is missing or too small. */
  bind(bindings: Bindings): Executable;
}

/** Memory for everything that a graph does not compute into scratch. */
export interface Bindings {
  /** Inputs and states by value. */
  readonly values: ReadonlyMap<Tensor | State, BufferRange>;
  /** Outputs by name. They must not overlap an input that a later operator still reads. */
  readonly outputs: ReadonlyMap<string, BufferRange>;
  readonly weights: ReadonlyMap<PackedWeight, BufferRange>;
  readonly scratch: BufferRange | undefined;
}

/** A program with addresses, ready to be recorded. */
export interface Executable {
  readonly program: Program;
  /** The memory that it is bound to, which outlives every step recorded from it. */
  readonly buffers: ReadonlySet<DeviceBuffer>;
}

/** A captured sequence of executables; replayed by `Stream.run`. */
export interface Step extends Disposable {
  readonly label: string;
}
