import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt } from './block-format.ts';
import { BYTES_32, field, halfField } from './block-layout.ts';
import { extremeOf } from './encoding/block-source.ts';

const COUNT = 32;

/** 32 elements `d * q`: f16 `d`, then 32 signed bytes. */
export const Q8_0 = blockFormat({
  name: 'Q8_0',
  ggmlType: 8,
  blockElements: COUNT,
  blockBytes: 34,
  layout: {
    levels: { kind: 'codes', code: [field(2, 8, BYTES_32)], level: { kind: 'signed' } },
    scale: { as: 'half', number: halfField(0) },
  },
  decodeBlock(bytes, at, out, to) {
    const d = halfAt(bytes, at);
    for (let i = 0; i < COUNT; i++) out[to + i] = d * bytes.getInt8(at + 2 + i);
  },
  encodeBlock({ values, from }, bytes, at) {
    const d = Math.fround(Math.abs(extremeOf(values, from, COUNT)) / 127);
    const inverse = d === 0 ? 0 : Math.fround(1 / d);
    bytes.setUint16(at, floatToHalf(d), true);
    for (let i = 0; i < COUNT; i++) {
      const scaled = Math.fround((values[from + i] as number) * inverse);
      // Rounds half away from zero, like C's `roundf`.
      bytes.setInt8(at + 2 + i, Math.sign(scaled) * Math.floor(Math.abs(scaled) + 0.5));
    }
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at, floatToHalf(deviation / 73.9), true);
  },
});
