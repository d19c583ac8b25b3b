import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt } from './block-format.ts';
import { BYTES_16, field, halfField } from './block-layout.ts';
import { type Block32, encodeAffine32 } from './encoding/blocks-32.ts';
import { FieldPacker } from './encoding/field-packer.ts';

const HALF = 16;
const CODE = [field(8, 4, [...BYTES_16, 4]), field(4, 1, [1, 2, 4, 8, 16])];

const BLOCK: Block32 = { blockBytes: 24, codes: new FieldPacker(CODE, 32), levels: 32 };

/** 32 elements `d * q + m`: f16 `d` and `m`, 32 fifth bits, then 16 bytes of nibbles as in Q4_0. */
export const Q5_1 = blockFormat({
  name: 'Q5_1',
  ggmlType: 7,
  blockElements: 32,
  blockBytes: 24,
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
    const fifths = bytes.getUint32(at + 4, true);
    for (let i = 0; i < HALF; i++) {
      const q = bytes.getUint8(at + 8 + i);
      out[to + i] = Math.fround(d * ((q & 15) + (((fifths >>> i) & 1) << 4))) + m;
      out[to + HALF + i] = Math.fround(d * ((q >> 4) + (((fifths >>> (HALF + i)) & 1) << 4))) + m;
    }
  },
  encodeBlock(source, bytes, at) {
    encodeAffine32(source, bytes, at, BLOCK);
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at, floatToHalf(deviation / 9.23), true);
    bytes.setUint16(at + 2, floatToHalf((-15.5 * deviation) / 9.23), true);
  },
});
