import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt } from './block-format.ts';
import { field, halfField } from './block-layout.ts';
import { IQ1_BOOK } from './codebooks.ts';
import { IQ1_DELTA, writeShifted } from './iq1-values.ts';

const CODES = 2;
const HIGH = 34;

/**
 * 256 elements in 8 groups of 32, each `d * (2 * scale + 1)` times four ternary codebook entries of 8, all shifted up
 * or down by an eighth. Bytes: f16 `d`; 32 of low entry bits; 16 bits per group: four times three upper entry bits, a
 * 3-bit scale, the sign of the shift.
 */
export const IQ1_S = blockFormat({
  name: 'IQ1_S',
  ggmlType: 19,
  blockElements: 256,
  blockBytes: 50,
  layout: {
    levels: {
      kind: 'grid',
      book: IQ1_BOOK,
      width: 8,
      entry: [field(CODES, 8, [0, 0, 0, 8, 16, 32, 64, 128]), field(HIGH, 3, [0, 0, 0, 3, 6, 16, 32, 64])],
      change: { kind: 'shift', down: [field(HIGH + 1, 1, [0, 0, 0, 0, 0, 16, 32, 64], 7)] },
    },
    scale: {
      as: 'half',
      number: halfField(0),
      unit: 1 / 8,
      sub: { number: [field(HIGH + 1, 3, [0, 0, 0, 0, 0, 16, 32, 64], 4)], as: 'odd' },
    },
  },
  decodeBlock(bytes, at, out, to) {
    const d = halfAt(bytes, at);
    for (let group = 0; group < 8; group++) {
      const bits = bytes.getUint16(at + HIGH + 2 * group, true);
      const scale = Math.fround(d * (2 * ((bits >> 12) & 7) + 1));
      const delta = bits & 0x8000 ? -IQ1_DELTA : IQ1_DELTA;
      for (let part = 0; part < 4; part++) {
        const high = (bits >> (3 * part)) & 7;
        const entry = bytes.getUint8(at + CODES + 4 * group + part) | (high << 8);
        writeShifted(out, to + 32 * group + 8 * part, scale, { entry, delta });
      }
    }
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at, floatToHalf(deviation / 7.18), true);
  },
});
