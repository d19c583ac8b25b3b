import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt, randomlySigned } from './block-format.ts';
import { BYTES_16, field, halfField } from './block-layout.ts';
import { type Block32, encodeSigned32 } from './encoding/blocks-32.ts';
import { FieldPacker } from './encoding/field-packer.ts';

const HALF = 16;
const CODE = [field(2, 4, [...BYTES_16, 4])];

const BLOCK: Block32 = { blockBytes: 18, codes: new FieldPacker(CODE, 32), levels: 16 };

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
      code: CODE,
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
  encodeBlock(source, bytes, at) {
    encodeSigned32(source, bytes, at, BLOCK);
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at, floatToHalf(randomlySigned(bytes, at, deviation / 4.61)), true);
  },
});
