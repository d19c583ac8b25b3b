/** Memory on a device. Its creator disposes it, after the last step that names it has completed. */
export interface DeviceBuffer extends Disposable {
  readonly byteLength: number;
  readonly label: string;
}

/**
 * What pinned memory is for: `inputs` are written where they lie, step after step; `weights` are filled anew for each
 * `Stream.pack` or `upload`, and `bytes` is asked for again after each.
 */
export type PinnedUse = 'inputs' | 'weights';

/**
 * Host memory close to a device: `bytes` is a view over it, valid until disposal, and may lie over shared memory. Where it is
 * for weights, the view ends with the `pack` or `upload` that takes it; the event behind that gives the property another.
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
