import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt } from './block-format.ts';
import { BYTES_16, field, halfField } from './block-layout.ts';
import { quantize, rangeOf } from './quantize.ts';

const HALF = 16;

/** 32 elements `d * q + m`: f16 `d` and `m`, 32 fifth bits, then 16 bytes of nibbles as in Q4_0. */
export const Q5_1 = blockFormat({
  name: 'Q5_1',
  ggmlType: 7,
  blockElements: 32,
  blockBytes: 24,
  layout: {
    levels: {
      kind: 'codes',
      code: [field(8, 4, [...BYTES_16, 4]), field(4, 1, [1, 2, 4, 8, 16])],
      level: { kind: 'linear', step: 1, less: 0 },
    },
    scale: { as: 'half', number: halfField(0) },
    min: { number: halfField(2) },
  },
  decodeBlock(bytes, at, out, to) {
    const d = halfAt(bytes, at);
    const m = halfAt(bytes, at + 2);
    const fifths = bytes.getUint32(at + 4, true);
    for (let i = 0; i < HALF; i++) {
      const q = bytes.getUint8(at + 8 + i);
      out[to + i] = Math.fround(d * ((q & 15) + (((fifths >>> i) & 1) << 4))) + m;
      out[to + HALF + i] = Math.fround(d * ((q >> 4) + (((fifths >>> (HALF + i)) & 1) << 4))) + m;
    }
  },
  encodeBlock(values, from, bytes, at) {
    const { min, max } = rangeOf(values, from, 32);
    const d = Math.fround(Math.fround(max - min) / 31);
    const inverse = d === 0 ? 0 : Math.fround(1 / d);
    let fifths = 0;
    for (let i = 0; i < HALF; i++) {
      const low = quantize(Math.fround((values[from + i] as number) - min), inverse, 0.5, 31);
      const high = quantize(Math.fround((values[from + HALF + i] as number) - min), inverse, 0.5, 31);
      fifths |= ((low >> 4) << i) | ((high >> 4) << (HALF + i));
      bytes.setUint8(at + 8 + i, (low & 15) | ((high & 15) << 4));
    }
    bytes.setUint16(at, floatToHalf(d), true);
    bytes.setUint16(at + 2, floatToHalf(min), true);
    bytes.setUint32(at + 4, fifths, true);
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at, floatToHalf(deviation / 9.23), true);
    bytes.setUint16(at + 2, floatToHalf((-15.5 * deviation) / 9.23), true);
  },
});
