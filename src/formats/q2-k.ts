import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt } from './block-format.ts';
import { BYTES_32, field, halfField } from './block-layout.ts';
import { FieldPacker } from './encoding/field-packer.ts';
import { type AffineSuperBlock, encodeAffineSuperBlock } from './encoding/super-blocks.ts';

const QUANTS = 16;
const SCALE = 80;
const MIN = 82;
const CODE = [field(QUANTS, 2, [...BYTES_32, 2, 4, 256])];
const SCALE_NUMBER = [field(0, 4, [0, 0, 0, 0, 8, 16, 32, 64])];
const MIN_NUMBER = [field(0, 4, [0, 0, 0, 0, 8, 16, 32, 64], 4)];

const PARTS: AffineSuperBlock = {
  blockBytes: 84,
  scaleAt: SCALE,
  minAt: MIN,
  codes: new FieldPacker(CODE, 256),
  scales: new FieldPacker(SCALE_NUMBER, 256, 16),
  mins: new FieldPacker(MIN_NUMBER, 256, 16),
  group: 16,
  limit: 3,
  scaleLimit: 15,
  search: { from: -0.5, step: Math.fround(0.1), count: 16, magnitudes: true },
  typicalShare: 0,
  varianceFactor: 1,
};

/**
 * 256 elements in 16 groups of 16, `d * scale * q - dmin * min`. Bytes: 16 of scale (low nibble) and min (high nibble),
 * 64 of 2-bit quants, f16 `d` and `dmin`. A run of 32 quant bytes holds 128 elements, one bit pair after the other.
 */
export const Q2_K = blockFormat({
  name: 'Q2_K',
  ggmlType: 10,
  blockElements: 256,
  blockBytes: 84,
  layout: {
    levels: {
      kind: 'codes',
      code: CODE,
      level: { kind: 'linear', step: 1, less: 0 },
    },
    scale: {
      as: 'half',
      number: halfField(SCALE),
      sub: { number: SCALE_NUMBER, as: { less: 0 } },
    },
    min: { number: halfField(MIN), sub: MIN_NUMBER },
  },
  decodeBlock(bytes, at, out, to) {
    const d = halfAt(bytes, at + SCALE);
    const dmin = halfAt(bytes, at + MIN);
    for (let group = 0; group < 16; group++) {
      const packed = bytes.getUint8(at + group);
      const scale = Math.fround(d * (packed & 15));
      const min = Math.fround(dmin * (packed >> 4));
      const from = at + QUANTS + 32 * (group >> 3) + 16 * (group & 1);
      const shift = group & 6;
      for (let i = 0; i < 16; i++) {
        const q = (bytes.getUint8(from + i) >> shift) & 3;
        out[to + 16 * group + i] = Math.fround(scale * q) - min;
      }
    }
  },
  encodeBlock(source, bytes, at) {
    encodeAffineSuperBlock(source, bytes, at, PARTS);
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at + SCALE, floatToHalf(deviation / 13.87), true);
    bytes.setUint16(at + MIN, floatToHalf((1.5 * deviation) / 13.87), true);
  },
});
