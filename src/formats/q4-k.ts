import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt } from './block-format.ts';
import { BYTES_32, field, halfField } from './block-layout.ts';
import { minFieldsK, minK, scaleFieldsK, scaleK } from './k-scales.ts';
import { FieldPacker } from './encoding/field-packer.ts';
import { type AffineSuperBlock, encodeAffineSuperBlock } from './encoding/super-blocks.ts';

const SCALES = 4;
const QUANTS = 16;
const CODE = [field(QUANTS, 4, [...BYTES_32, 4, 256, 512])];

const PARTS: AffineSuperBlock = {
  blockBytes: 144,
  scaleAt: 0,
  minAt: 2,
  codes: new FieldPacker(CODE, 256),
  scales: new FieldPacker(scaleFieldsK(SCALES), 256, 32),
  mins: new FieldPacker(minFieldsK(SCALES), 256, 32),
  group: 32,
  limit: 15,
  scaleLimit: 63,
  search: { from: -1, step: Math.fround(0.1), count: 21 },
  typicalShare: 1,
  varianceFactor: 2,
};

/**
 * 256 elements in 8 groups of 32, `d * scale * q - dmin * min`. Bytes: f16 `d` and `dmin`, 12 of 6-bit scales and mins,
 * 128 of nibbles: 32 bytes hold one group in their low nibbles and the next in their high ones.
 */
export const Q4_K = blockFormat({
  name: 'Q4_K',
  ggmlType: 12,
  blockElements: 256,
  blockBytes: 144,
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
        const q = (bytes.getUint8(from + i) >> shift) & 15;
        out[to + 32 * group + i] = Math.fround(scale * q) - min;
      }
    }
  },
  encodeBlock(source, bytes, at) {
    encodeAffineSuperBlock(source, bytes, at, PARTS);
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at, floatToHalf(deviation / 258.3), true);
    bytes.setUint16(at + 2, floatToHalf((7.5 * deviation) / 258.3), true);
  },
});
