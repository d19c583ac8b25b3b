/** Memory on a device. Its creator disposes it, after the last step that names it has completed. */
export interface DeviceBuffer extends Disposable {
  readonly byteLength: number;
  readonly label: string;
}

/**
 * What pinned memory is for: `inputs` are written where they lie, step after step; `weights` are filled again for each
 * `Stream.pack` or `upload`, and `bytes` is asked for again after each.
 */
export type PinnedUse = 'inputs' | 'weights';

/**
 * Host memory close to a device: `bytes` is a view over it, valid until disposal, and may lie over shared memory. Where it is
 * for weights, the view ends with the `pack` or `upload` that takes it; the event after that gives the property another.
 */
export interface PinnedBuffer extends Disposable {
  readonly byteLength: number;
  readonly bytes: Uint8Array;
}

/** A part of a buffer. Offsets are multiples of `BUFFER_ALIGNMENT`. */
export interface BufferRange {
  readonly buffer: DeviceBuffer;
  readonly offset: number;
  readonly byteLength: number;
}

/** What every bound range's offset is a multiple of (WebGPU's `minStorageBufferOffsetAlignment`). */
export const BUFFER_ALIGNMENT = 256;

/** The whole of a buffer. */
export function wholeOf(buffer: DeviceBuffer): BufferRange {
  return { buffer, offset: 0, byteLength: buffer.byteLength };
}

/** How a device gives out memory: what is planned with before anything is allocated. */
export interface MemoryRules {
  /** Bytes that buffers of these sizes take together, rounded as the driver rounds. */
  footprint(byteLengths: readonly number[]): number;
  /** Bytes that the device takes besides buffers of these sizes when it runs the model that is planned: code, recorded steps. */
  own(byteLengths: readonly number[]): number;
  /** Sizes of what rows wait in on the device until they are packed, where so many streams bring chunks of up to so many bytes. */
  waiting(streams: number, chunkBytes: number): readonly number[];
  /** Bytes of the largest buffer. */
  readonly largestBuffer: number;
  /** Whether pinned memory for this comes out of the memory of the buffers. */
  pinnedInside(use: PinnedUse): boolean;
}

/** The rules of memory that rounds nothing, with what differs. */
export function memoryRules(of: Partial<MemoryRules> = {}): MemoryRules {
  const { footprint = totalOf, own = () => 0, largestBuffer = Number.MAX_SAFE_INTEGER } = of;
  const { waiting = () => [], pinnedInside = () => true } = of;
  return { footprint, own, waiting, largestBuffer, pinnedInside };
}

/** The sum of some sizes. */
export function totalOf(byteLengths: readonly number[]): number {
  return byteLengths.reduce((sum, bytes) => sum + bytes, 0);
}
