import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt } from './block-format.ts';
import { BYTES_16, field, halfField } from './block-layout.ts';
import { FieldPacker } from './encoding/field-packer.ts';
import { encodeTableBlock, type TableBlock } from './encoding/table-blocks.ts';
import { IQ4_VALUES } from './iq4-values.ts';

const SCALES_HIGH = 2;
const SCALES_LOW = 4;
const QUANTS = 8;
const CODE = [field(QUANTS, 4, [...BYTES_16, 4, 128, 256, 512])];
const SCALE_NUMBER = [
  field(SCALES_LOW, 4, [0, 0, 0, 0, 0, 4, 8, 16]),
  field(SCALES_HIGH, 2, [0, 0, 0, 0, 0, 2, 4, 8]),
];

const BLOCK: TableBlock = {
  blockBytes: 136,
  elements: 256,
  levels: IQ4_VALUES,
  codes: new FieldPacker(CODE, 256),
  scales: new FieldPacker(SCALE_NUMBER, 256, 32),
};

/**
 * 256 elements in 8 groups of 32, `d * (scale - 32) * level[q]`. Bytes: f16 `d`, 16 bits with the upper bit pairs of
 * the scales, 4 of their low nibbles, 128 of nibbles, 16 per group as in Q4_0.
 */
export const IQ4_XS = blockFormat({
  name: 'IQ4_XS',
  ggmlType: 23,
  blockElements: 256,
  blockBytes: 136,
  layout: {
    levels: {
      kind: 'codes',
      code: CODE,
      level: { kind: 'table', table: IQ4_VALUES },
    },
    scale: {
      as: 'half',
      number: halfField(0),
      sub: {
        number: SCALE_NUMBER,
        as: { less: 32 },
      },
    },
  },
  decodeBlock(bytes, at, out, to) {
    const d = halfAt(bytes, at);
    const highs = bytes.getUint16(at + SCALES_HIGH, true);
    for (let group = 0; group < 8; group++) {
      const low = (bytes.getUint8(at + SCALES_LOW + (group >> 1)) >> (4 * (group & 1))) & 15;
      const high = (highs >> (2 * group)) & 3;
      const scale = Math.fround(d * ((low | (high << 4)) - 32));
      const from = at + QUANTS + 16 * group;
      for (let i = 0; i < 16; i++) {
        const q = bytes.getUint8(from + i);
        out[to + 32 * group + i] = scale * (IQ4_VALUES[q & 15] as number);
        out[to + 32 * group + 16 + i] = scale * (IQ4_VALUES[q >> 4] as number);
      }
    }
  },
  encodeBlock(source, bytes, at) {
    encodeTableBlock(source, bytes, at, BLOCK);
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at, floatToHalf(deviation / 1248), true);
  },
});
