import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt, randomlySigned } from './block-format.ts';
import { BYTES_16, field, halfField } from './block-layout.ts';
import { type Block32, encodeSigned32 } from './encoding/blocks-32.ts';
import { FieldPacker } from './encoding/field-packer.ts';

const HALF = 16;
const CODE = [field(6, 4, [...BYTES_16, 4]), field(2, 1, [1, 2, 4, 8, 16])];

const BLOCK: Block32 = { blockBytes: 22, codes: new FieldPacker(CODE, 32), levels: 32 };

/** 32 elements `d * (q - 16)`: f16 `d`, 32 fifth bits, then 16 bytes of nibbles as in Q4_0. */
export const Q5_0 = blockFormat({
  name: 'Q5_0',
  ggmlType: 6,
  blockElements: 32,
  blockBytes: 22,
  layout: {
    levels: {
      kind: 'codes',
      code: CODE,
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
  encodeBlock(source, bytes, at) {
    encodeSigned32(source, bytes, at, BLOCK);
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at, floatToHalf(randomlySigned(bytes, at, deviation / 9.25)), true);
  },
});
