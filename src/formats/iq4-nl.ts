import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt, randomlySigned } from './block-format.ts';
import { BYTES_16, field, halfField } from './block-layout.ts';
import { FieldPacker } from './encoding/field-packer.ts';
import { encodeTableBlock, type TableBlock } from './encoding/table-blocks.ts';
import { IQ4_VALUES } from './iq4-values.ts';

const HALF = 16;
const CODE = [field(2, 4, [...BYTES_16, 4])];

const BLOCK: TableBlock = {
  blockBytes: 18,
  elements: 32,
  levels: IQ4_VALUES,
  codes: new FieldPacker(CODE, 32),
};

/** 32 elements `d * level[q]`: f16 `d`, then 16 bytes of nibbles as in Q4_0. */
export const IQ4_NL = blockFormat({
  name: 'IQ4_NL',
  ggmlType: 20,
  blockElements: 32,
  blockBytes: 18,
  layout: {
    levels: {
      kind: 'codes',
      code: CODE,
      level: { kind: 'table', table: IQ4_VALUES },
    },
    scale: { as: 'half', number: halfField(0) },
  },
  decodeBlock(bytes, at, out, to) {
    const d = halfAt(bytes, at);
    for (let i = 0; i < HALF; i++) {
      const q = bytes.getUint8(at + 2 + i);
      out[to + i] = d * (IQ4_VALUES[q & 15] as number);
      out[to + HALF + i] = d * (IQ4_VALUES[q >> 4] as number);
    }
  },
  encodeBlock(source, bytes, at) {
    encodeTableBlock(source, bytes, at, BLOCK);
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at, floatToHalf(randomlySigned(bytes, at, deviation / 67.2)), true);
  },
});
