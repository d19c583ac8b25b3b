import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt } from './block-format.ts';
import { BYTES_32, field, halfField } from './block-layout.ts';
import { byMagnitude, clear } from './encoding/block-source.ts';
import { FieldPacker } from './encoding/field-packer.ts';

const SCALE = 64;
const CODE = [field(0, 2, [...BYTES_32, 2, 4, 256])];

const CODES = new FieldPacker(CODE, 256);

/**
 * 256 ternary elements `d * (q - 1)`: 64 bytes of bit pairs (32 bytes hold 128 elements, pair by pair), then f16 `d`.
 */
export const TQ2_0 = blockFormat({
  name: 'TQ2_0',
  ggmlType: 35,
  blockElements: 256,
  blockBytes: 66,
  layout: {
    levels: {
      kind: 'codes',
      code: CODE,
      level: { kind: 'linear', step: 1, less: 1 },
    },
    scale: { as: 'half', number: halfField(SCALE) },
  },
  decodeBlock(bytes, at, out, to) {
    const d = halfAt(bytes, at + SCALE);
    for (let run = 0; run < 8; run++) {
      const from = at + 32 * (run >> 2);
      const shift = 2 * (run & 3);
      for (let i = 0; i < 32; i++) {
        out[to + 32 * run + i] = d * (((bytes.getUint8(from + i) >> shift) & 3) - 1);
      }
    }
  },
  encodeBlock(source, bytes, at) {
    const { scale, codes } = byMagnitude(source, 256, 2);
    clear(bytes, at, 66);
    bytes.setUint16(at + SCALE, floatToHalf(scale), true);
    CODES.write(bytes, at, codes);
  },
  tame(bytes, at, deviation) {
    for (let i = at; i < at + SCALE; i += 4) {
      const pairs = bytes.getUint32(i, true);
      // 3 is not a ternary digit and would shift the mean: it is replaced by 1, which decodes to zero.
      const threes = pairs & (pairs >>> 1) & 0x55555555;
      bytes.setUint32(i, pairs ^ (threes << 1), true);
    }
    bytes.setUint16(at + SCALE, floatToHalf(deviation / Math.SQRT1_2), true);
  },
});
