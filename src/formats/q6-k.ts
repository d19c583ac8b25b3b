import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt } from './block-format.ts';
import { BYTES_32, field, halfField } from './block-layout.ts';
import { FieldPacker } from './encoding/field-packer.ts';
import { encodeSignedSuperBlock, type SignedSuperBlock } from './encoding/super-blocks.ts';

const HIGH = 128;
const SCALES = 192;
const SCALE = 208;
const CODE = [field(0, 4, [...BYTES_32, 256, 4, 512]), field(HIGH, 2, [...BYTES_32, 2, 4, 256])];
const SCALE_NUMBER = [field(SCALES, 8, [0, 0, 0, 0, 8, 16, 32, 64])];

const PARTS: SignedSuperBlock = {
  blockBytes: 210,
  scaleAt: SCALE,
  codes: new FieldPacker(CODE, 256),
  scales: new FieldPacker(SCALE_NUMBER, 256, 16),
  limit: 32,
  scaleLimit: 128,
  scaleLess: 0,
};

/**
 * 256 elements in 16 groups of 16, `d * scale * (q - 32)`. Bytes: 128 of low nibbles, 64 of upper bit pairs, 16 signed
 * scales, f16 `d`. Each half of the block is four runs of 32 elements: runs 0 and 1 are the low nibbles of its 64
 * bytes, runs 2 and 3 the high ones, and run `r` uses bit pair `r` of its 32 upper bytes.
 */
export const Q6_K = blockFormat({
  name: 'Q6_K',
  ggmlType: 14,
  blockElements: 256,
  blockBytes: 210,
  layout: {
    levels: {
      kind: 'codes',
      code: CODE,
      level: { kind: 'linear', step: 1, less: 32 },
    },
    scale: {
      as: 'half',
      number: halfField(SCALE),
      sub: { number: SCALE_NUMBER, as: 'signed' },
    },
  },
  decodeBlock(bytes, at, out, to) {
    const d = halfAt(bytes, at + SCALE);
    for (let group = 0; group < 16; group++) {
      const scale = Math.fround(d * bytes.getInt8(at + SCALES + group));
      const half = group >> 3;
      const run = (group >> 1) & 3;
      const column = 16 * (group & 1);
      const lows = at + 64 * half + 32 * (run & 1) + column;
      const highs = at + HIGH + 32 * half + column;
      for (let i = 0; i < 16; i++) {
        const low = (bytes.getUint8(lows + i) >> (4 * (run >> 1))) & 15;
        const high = (bytes.getUint8(highs + i) >> (2 * run)) & 3;
        out[to + 16 * group + i] = scale * (low + 16 * high - 32);
      }
    }
  },
  encodeBlock(source, bytes, at) {
    encodeSignedSuperBlock(source, bytes, at, { ...PARTS, refine: false });
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at + SCALE, floatToHalf(deviation / 1366), true);
  },
});
