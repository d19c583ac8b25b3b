import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt } from './block-format.ts';
import { BYTES_16, field, halfField } from './block-layout.ts';
import { type Block32, encodeAffine32 } from './encoding/blocks-32.ts';
import { FieldPacker } from './encoding/field-packer.ts';

const HALF = 16;
const CODE = [field(4, 4, [...BYTES_16, 4])];

const BLOCK: Block32 = { blockBytes: 20, codes: new FieldPacker(CODE, 32), levels: 16 };

/** 32 elements `d * q + m`: f16 `d` and `m`, then 16 bytes of nibbles as in Q4_0. */
export const Q4_1 = blockFormat({
  name: 'Q4_1',
  ggmlType: 3,
  blockElements: 32,
  blockBytes: 20,
  layout: {
    levels: {
      kind: 'codes',
      code: CODE,
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
  encodeBlock(source, bytes, at) {
    encodeAffine32(source, bytes, at, BLOCK);
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at, floatToHalf(deviation / 4.61), true);
    bytes.setUint16(at + 2, floatToHalf((-7.5 * deviation) / 4.61), true);
  },
});
