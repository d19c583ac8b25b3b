import { plainFormat } from './plain-format.ts';

/** IEEE 754 binary32. */
export const F32 = {
  ...plainFormat({
    name: 'F32',
    ggmlType: 0,
    bytes: 4,
    get: (bytes, at) => bytes.getFloat32(at, true),
    set: (bytes, at, value) => bytes.setFloat32(at, value, true),
    encodes: true,
  }),
  /** Copies bytes: converting to numbers and back would change the bits of a signalling NaN. */
  decode(src: Uint8Array, srcOffset: number, dst: Float32Array, dstOffset: number, blockCount: number): void {
    const to = new Uint8Array(dst.buffer, dst.byteOffset + 4 * dstOffset, 4 * blockCount);
    to.set(src.subarray(srcOffset, srcOffset + 4 * blockCount));
  },
};
