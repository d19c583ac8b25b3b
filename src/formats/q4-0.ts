import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt, randomlySigned } from './block-format.ts';
import { BYTES_16, field, halfField } from './block-layout.ts';
import { extremeOf, quantize } from './quantize.ts';

const HALF = 16;

/**
 * 32 elements `d * (q - 8)`: f16 `d`, then 16 bytes; the low nibbles are the first 16 elements, the high ones the rest.
 */
export const Q4_0 = blockFormat({
  name: 'Q4_0',
  ggmlType: 2,
  blockElements: 32,
  blockBytes: 18,
  layout: {
    levels: {
      kind: 'codes',
      code: [field(2, 4, [...BYTES_16, 4])],
      level: { kind: 'linear', step: 1, less: 8 },
    },
    scale: { as: 'half', number: halfField(0) },
  },
  decodeBlock(bytes, at, out, to) {
    const d = halfAt(bytes, at);
    for (let i = 0; i < HALF; i++) {
      const q = bytes.getUint8(at + 2 + i);
      out[to + i] = d * ((q & 15) - 8);
      out[to + HALF + i] = d * ((q >> 4) - 8);
    }
  },
  encodeBlock(values, from, bytes, at) {
    const d = Math.fround(extremeOf(values, from, 32) / -8);
    const inverse = d === 0 ? 0 : Math.fround(1 / d);
    bytes.setUint16(at, floatToHalf(d), true);
    for (let i = 0; i < HALF; i++) {
      const low = quantize(values[from + i] as number, inverse, 8.5, 15);
      const high = quantize(values[from + HALF + i] as number, inverse, 8.5, 15);
      bytes.setUint8(at + 2 + i, low | (high << 4));
    }
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at, floatToHalf(randomlySigned(bytes, at, deviation / 4.61)), true);
  },
});
