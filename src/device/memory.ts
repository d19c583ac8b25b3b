/** Memory on a device. Its creator disposes it, after the last step that uses it has completed. */
export interface DeviceBuffer extends Disposable {
  readonly byteLength: number;
  readonly label: string;
}

/**
 * The use of pinned memory: `inputs` are rewritten in place for each step; `weights` are refilled for each
 * `Stream.pack` or `upload`, and `bytes` is read again after each.
 */
export type PinnedUse = 'inputs' | 'weights';

/**
 * Host memory close to a device: `bytes` is a view of it, valid until disposal, possibly over shared memory. If it is
 * for weights, the view becomes invalid with the `pack` or `upload` that takes it; after the following event, `bytes`
 * returns a new one.
 */
export interface PinnedBuffer extends Disposable {
  readonly byteLength: number;
  readonly bytes: Uint8Array;
}

/** A range of a buffer. Offsets are multiples of `BUFFER_ALIGNMENT`. */
export interface BufferRange {
  readonly buffer: DeviceBuffer;
  readonly offset: number;
  readonly byteLength: number;
}

/** Alignment of every bound range (WebGPU's `minStorageBufferOffsetAlignment`). */
export const BUFFER_ALIGNMENT = 256;

/** The whole of a buffer. */
export function wholeOf(buffer: DeviceBuffer): BufferRange {
  return { buffer, offset: 0, byteLength: buffer.byteLength };
}

/** How a device allocates memory, for planning before anything is allocated. */
export interface MemoryRules {
  /** Bytes that buffers of these sizes take together, with the driver's rounding. */
  footprint(byteLengths: readonly number[]): number;
  /** Additional device memory of a running model with buffers of these sizes: code, recorded steps. */
  own(byteLengths: readonly number[]): number;
  /**
   * Sizes of the device buffers in which rows wait to be packed, for so many streams with chunks of up to so many
   * bytes.
   */
  waiting(streams: number, chunkBytes: number): readonly number[];
  /** Maximum size of a buffer. */
  readonly largestBuffer: number;
  /** Whether pinned memory for this use counts as device memory. */
  pinnedInside(use: PinnedUse): boolean;
}

/** The rules of memory without rounding, except for the given ones. */
export function memoryRules(of: Partial<MemoryRules> = {}): MemoryRules {
  const { footprint = totalOf, own = () => 0, largestBuffer = Number.MAX_SAFE_INTEGER } = of;
  const { waiting = () => [], pinnedInside = () => true } = of;
  return { footprint, own, waiting, largestBuffer, pinnedInside };
}

/** The sum of some sizes. */
export function totalOf(byteLengths: readonly number[]): number {
  return byteLengths.reduce((sum, bytes) => sum + bytes, 0);
}
