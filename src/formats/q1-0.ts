import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt } from './block-format.ts';
import { field, halfField } from './block-layout.ts';
import { clear } from './encoding/block-source.ts';
import { FieldPacker } from './encoding/field-packer.ts';

const COUNT = 128;
const QUANTS = 2;
const CODE = [field(QUANTS, 1, [1, 2, 4, 8, 16, 32, 64])];

const CODES = new FieldPacker(CODE, COUNT);

/** 128 elements `d` or `-d`: f16 `d`, then one bit each, set for `d`. */
export const Q1_0 = blockFormat({
  name: 'Q1_0',
  ggmlType: 41,
  blockElements: COUNT,
  blockBytes: 18,
  layout: {
    levels: {
      kind: 'codes',
      code: CODE,
      level: { kind: 'linear', step: 2, less: 1 },
    },
    scale: { as: 'half', number: halfField(0) },
  },
  decodeBlock(bytes, at, out, to) {
    const d = halfAt(bytes, at);
    for (let i = 0; i < COUNT; i++) {
      const bit = (bytes.getUint8(at + QUANTS + (i >> 3)) >> (i & 7)) & 1;
      out[to + i] = bit === 1 ? d : -d;
    }
  },
  encodeBlock({ values, from }, bytes, at) {
    const block = values.subarray(from, from + COUNT);
    let sum = 0;
    for (const value of block) sum = Math.fround(sum + Math.abs(value));
    clear(bytes, at, 18);
    bytes.setUint16(at, floatToHalf(Math.fround(sum / COUNT)), true);
    CODES.write(
      bytes,
      at,
      block.map((value) => (value >= 0 ? 1 : 0)),
    );
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at, floatToHalf(deviation), true);
  },
});
