import { blockFormat } from './block-format.ts';
import { BYTES_16, field } from './block-layout.ts';
import { extremeOf } from './encoding/block-source.ts';
import { FP4_DOUBLED, FP4_DOUBLED_DEVIATION, nearestFp4 } from './fp4.ts';

const HALF = 16;

/**
 * OCP MXFP4: 32 E2M1 elements with a power of two as scale: one byte E8M0 (2^(e - 127)), then 16 bytes of codes as in
 * Q4_0. The codes' values are stored doubled, so the scale is halved.
 */
export const MXFP4 = blockFormat({
  name: 'MXFP4',
  ggmlType: 39,
  blockElements: 32,
  blockBytes: 17,
  layout: {
    levels: {
      kind: 'codes',
      code: [field(1, 4, [...BYTES_16, 4])],
      level: { kind: 'table', table: FP4_DOUBLED },
    },
    scale: { as: 'e8m0', number: [field(0, 8)] },
  },
  decodeBlock(bytes, at, out, to) {
    const d = 2 ** (bytes.getUint8(at) - 128);
    for (let i = 0; i < HALF; i++) {
      const codes = bytes.getUint8(at + 1 + i);
      out[to + i] = d * (FP4_DOUBLED[codes & 15] as number);
      out[to + HALF + i] = d * (FP4_DOUBLED[codes >> 4] as number);
    }
  },
  encodeBlock({ values, from }, bytes, at) {
    const largest = Math.abs(extremeOf(values, from, 2 * HALF));
    // The largest code is 6 = 1.5 * 2^2.
    const exponent = largest > 0 ? Math.floor(Math.fround(Math.log2(largest))) - 2 + 127 : 0;
    const code = Math.min(254, Math.max(0, exponent));
    const d = 2 ** (code - 128);
    bytes.setUint8(at, code);
    for (let i = 0; i < HALF; i++) {
      const low = nearestFp4(values[from + i] as number, d);
      const high = nearestFp4(values[from + HALF + i] as number, d);
      bytes.setUint8(at + 1 + i, low | (high << 4));
    }
  },
  /** As close as a power of two can be. */
  tame(bytes, at, deviation) {
    const exponent = Math.round(Math.log2(deviation / FP4_DOUBLED_DEVIATION)) + 128;
    bytes.setUint8(at, Math.min(254, Math.max(0, exponent)));
  },
});
