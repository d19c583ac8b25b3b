import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt, randomlySigned } from './block-format.ts';
import { BYTES_16, field, halfField } from './block-layout.ts';
import { extremeOf, quantize } from './quantize.ts';

const HALF = 16;

/** 32 elements `d * (q - 16)`: f16 `d`, 32 fifth bits, then 16 bytes of nibbles as in Q4_0. */
export const Q5_0 = blockFormat({
  name: 'Q5_0',
  ggmlType: 6,
  blockElements: 32,
  blockBytes: 22,
  layout: {
    levels: {
      kind: 'codes',
      code: [field(6, 4, [...BYTES_16, 4]), field(2, 1, [1, 2, 4, 8, 16])],
      level: { kind: 'linear', step: 1, less: 16 },
    },
    scale: { as: 'half', number: halfField(0) },
  },
  decodeBlock(bytes, at, out, to) {
    const d = halfAt(bytes, at);
    const fifths = bytes.getUint32(at + 2, true);
    for (let i = 0; i < HALF; i++) {
      const q = bytes.getUint8(at + 6 + i);
      out[to + i] = d * ((q & 15) + (((fifths >>> i) & 1) << 4) - 16);
      out[to + HALF + i] = d * ((q >> 4) + (((fifths >>> (HALF + i)) & 1) << 4) - 16);
    }
  },
  encodeBlock(values, from, bytes, at) {
    const d = Math.fround(extremeOf(values, from, 32) / -16);
    const inverse = d === 0 ? 0 : Math.fround(1 / d);
    let fifths = 0;
    for (let i = 0; i < HALF; i++) {
      const low = quantize(values[from + i] as number, inverse, 16.5, 31);
      const high = quantize(values[from + HALF + i] as number, inverse, 16.5, 31);
      fifths |= ((low >> 4) << i) | ((high >> 4) << (HALF + i));
      bytes.setUint8(at + 6 + i, (low & 15) | ((high & 15) << 4));
    }
    bytes.setUint16(at, floatToHalf(d), true);
    bytes.setUint32(at + 2, fifths, true);
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at, floatToHalf(randomlySigned(bytes, at, deviation / 9.25)), true);
  },
});
