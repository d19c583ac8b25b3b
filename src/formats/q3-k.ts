import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt } from './block-format.ts';
import { BYTES_32, field, halfField } from './block-layout.ts';
import { FieldPacker } from './encoding/field-packer.ts';
import {
  encodeSignedSuperBlock,
  encodeWeighedSuperBlock,
  type SignedSuperBlock,
} from './encoding/super-blocks.ts';

const QUANTS = 32;
const SCALES = 96;
const SCALE = 108;
const CODE = [field(QUANTS, 2, [...BYTES_32, 2, 4, 256]), field(0, 1, [...BYTES_32, 1, 2, 4])];
const SCALE_NUMBER = [
  field(SCALES, 4, [0, 0, 0, 0, 8, 16, 32, 4]),
  field(SCALES + 8, 2, [0, 0, 0, 0, 8, 16, 2, 4]),
];

const PARTS: SignedSuperBlock = {
  blockBytes: 110,
  scaleAt: SCALE,
  codes: new FieldPacker(CODE, 256),
  scales: new FieldPacker(SCALE_NUMBER, 256, 16),
  limit: 4,
  scaleLimit: 32,
  scaleLess: 32,
};

/**
 * 256 elements in 16 groups of 16, `d * (scale - 32) * (q - 4)`. Bytes: 32 of third bits, 64 of low bit pairs laid out
 * as in Q2_K, 12 of 6-bit scales, f16 `d`.
 */
export const Q3_K = blockFormat({
  name: 'Q3_K',
  ggmlType: 11,
  blockElements: 256,
  blockBytes: 110,
  layout: {
    levels: {
      kind: 'codes',
      code: CODE,
      level: { kind: 'linear', step: 1, less: 4 },
    },
    scale: {
      as: 'half',
      number: halfField(SCALE),
      sub: {
        number: SCALE_NUMBER,
        as: { less: 32 },
      },
    },
  },
  decodeBlock(bytes, at, out, to) {
    const d = halfAt(bytes, at + SCALE);
    for (let group = 0; group < 16; group++) {
      const scale = Math.fround(d * (scaleOf(bytes, at + SCALES, group) - 32));
      const column = 16 * (group & 1);
      const from = at + QUANTS + 32 * (group >> 3) + column;
      const shift = group & 6;
      const third = group >> 1;
      for (let i = 0; i < 16; i++) {
        const low = (bytes.getUint8(from + i) >> shift) & 3;
        const high = (bytes.getUint8(at + column + i) >> third) & 1;
        out[to + 16 * group + i] = scale * (low + 4 * high - 4);
      }
    }
  },
  encodeBlock(source, bytes, at) {
    if (source.importance) encodeWeighedSuperBlock(source, bytes, at, PARTS);
    else encodeSignedSuperBlock(source, bytes, at, { ...PARTS, refine: true });
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at + SCALE, floatToHalf(deviation / 43.3), true);
  },
});

/** Scale `group`: four bits from one of the first eight bytes, two from one of the last four. */
function scaleOf(bytes: DataView, at: number, group: number): number {
  const nibbles = bytes.getUint8(at + (group & 7));
  const low = group < 8 ? nibbles & 15 : nibbles >> 4;
  const high = (bytes.getUint8(at + 8 + (group & 3)) >> (2 * (group >> 2))) & 3;
  return low | (high << 4);
}
