import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt } from './block-format.ts';
import { BYTES_16, field, halfField } from './block-layout.ts';
import { quantize, rangeOf } from './quantize.ts';

const HALF = 16;

/** 32 elements `d * q + m`: f16 `d` and `m`, then 16 bytes of nibbles as in Q4_0. */
export const Q4_1 = blockFormat({
  name: 'Q4_1',
  ggmlType: 3,
  blockElements: 32,
  blockBytes: 20,
  layout: {
    levels: {
      kind: 'codes',
      code: [field(4, 4, [...BYTES_16, 4])],
      level: { kind: 'linear', step: 1, less: 0 },
    },
    scale: { as: 'half', number: halfField(0) },
    min: { number: halfField(2) },
  },
  decodeBlock(bytes, at, out, to) {
    const d = halfAt(bytes, at);
    const m = halfAt(bytes, at + 2);
    for (let i = 0; i < HALF; i++) {
      const q = bytes.getUint8(at + 4 + i);
      out[to + i] = Math.fround(d * (q & 15)) + m;
      out[to + HALF + i] = Math.fround(d * (q >> 4)) + m;
    }
  },
  encodeBlock(values, from, bytes, at) {
    const { min, max } = rangeOf(values, from, 32);
    const d = Math.fround(Math.fround(max - min) / 15);
    const inverse = d === 0 ? 0 : Math.fround(1 / d);
    bytes.setUint16(at, floatToHalf(d), true);
    bytes.setUint16(at + 2, floatToHalf(min), true);
    for (let i = 0; i < HALF; i++) {
      const low = quantize(Math.fround((values[from + i] as number) - min), inverse, 0.5, 15);
      const high = quantize(Math.fround((values[from + HALF + i] as number) - min), inverse, 0.5, 15);
      bytes.setUint8(at + 4 + i, low | (high << 4));
    }
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at, floatToHalf(deviation / 4.61), true);
    bytes.setUint16(at + 2, floatToHalf((-7.5 * deviation) / 4.61), true);
  },
});
