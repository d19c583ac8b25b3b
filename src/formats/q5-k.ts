import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt } from './block-format.ts';
import { BYTES_32, field, halfField } from './block-layout.ts';
import { minFieldsK, minK, scaleFieldsK, scaleK } from './k-scales.ts';
import { FieldPacker } from './encoding/field-packer.ts';
import { type AffineSuperBlock, encodeAffineSuperBlock } from './encoding/super-blocks.ts';

const SCALES = 4;
const FIFTHS = 16;
const QUANTS = 48;
const CODE = [field(QUANTS, 4, [...BYTES_32, 4, 256, 512]), field(FIFTHS, 1, [...BYTES_32, 1, 2, 4])];

const PARTS: AffineSuperBlock = {
  blockBytes: 176,
  scaleAt: 0,
  minAt: 2,
  codes: new FieldPacker(CODE, 256),
  scales: new FieldPacker(scaleFieldsK(SCALES), 256, 32),
  mins: new FieldPacker(minFieldsK(SCALES), 256, 32),
  group: 32,
  limit: 31,
  scaleLimit: 63,
  search: { from: -0.5, step: Math.fround(0.1), count: 16 },
  typicalShare: 1,
  varianceFactor: 2,
};

/**
 * Like Q4_K with a fifth bit: f16 `d` and `dmin`, 12 bytes of scales and mins, 32 of fifth bits (bit `g` of byte `i`
 * for element `i` of group `g`), 128 of nibbles.
 */
export const Q5_K = blockFormat({
  name: 'Q5_K',
  ggmlType: 13,
  blockElements: 256,
  blockBytes: 176,
  layout: {
    levels: {
      kind: 'codes',
      code: CODE,
      level: { kind: 'linear', step: 1, less: 0 },
    },
    scale: { as: 'half', number: halfField(0), sub: { number: scaleFieldsK(SCALES), as: { less: 0 } } },
    min: { number: halfField(2), sub: minFieldsK(SCALES) },
  },
  decodeBlock(bytes, at, out, to) {
    const d = halfAt(bytes, at);
    const dmin = halfAt(bytes, at + 2);
    for (let group = 0; group < 8; group++) {
      const scale = Math.fround(d * scaleK(bytes, at + SCALES, group));
      const min = Math.fround(dmin * minK(bytes, at + SCALES, group));
      const from = at + QUANTS + 32 * (group >> 1);
      const shift = 4 * (group & 1);
      for (let i = 0; i < 32; i++) {
        const low = (bytes.getUint8(from + i) >> shift) & 15;
        const fifth = (bytes.getUint8(at + FIFTHS + i) >> group) & 1;
        out[to + 32 * group + i] = Math.fround(scale * (low + 16 * fifth)) - min;
      }
    }
  },
  encodeBlock(source, bytes, at) {
    encodeAffineSuperBlock(source, bytes, at, PARTS);
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at, floatToHalf(deviation / 526.9), true);
    bytes.setUint16(at + 2, floatToHalf((15.5 * deviation) / 526.9), true);
  },
});
