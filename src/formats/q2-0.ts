import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt, randomlySigned } from './block-format.ts';
import { field, halfField } from './block-layout.ts';
import { byMagnitude, clear } from './encoding/block-source.ts';
import { FieldPacker } from './encoding/field-packer.ts';

const COUNT = 64;
const QUANTS = 2;
const CODE = [field(QUANTS, 2, [2, 4, 8, 16, 32, 64])];

const CODES = new FieldPacker(CODE, COUNT);

/** 64 elements `d * (q - 1)`: f16 `d`, then two bits each, four consecutive elements per byte. */
export const Q2_0 = blockFormat({
  name: 'Q2_0',
  ggmlType: 42,
  blockElements: COUNT,
  blockBytes: 18,
  layout: {
    levels: {
      kind: 'codes',
      code: CODE,
      level: { kind: 'linear', step: 1, less: 1 },
    },
    scale: { as: 'half', number: halfField(0) },
  },
  decodeBlock(bytes, at, out, to) {
    const d = halfAt(bytes, at);
    for (let i = 0; i < COUNT; i++) {
      const q = (bytes.getUint8(at + QUANTS + (i >> 2)) >> (2 * (i & 3))) & 3;
      out[to + i] = (q - 1) * d;
    }
  },
  encodeBlock(source, bytes, at) {
    const { scale, codes } = byMagnitude(source, COUNT, 3);
    clear(bytes, at, 18);
    bytes.setUint16(at, floatToHalf(scale), true);
    CODES.write(bytes, at, codes);
  },
  tame(bytes, at, deviation) {
    // Levels -1, 0, 1 and 2 are equally frequent and have a mean of one half, so blocks get random signs.
    bytes.setUint16(at, floatToHalf(randomlySigned(bytes, at, deviation / Math.sqrt(1.5))), true);
  },
});
