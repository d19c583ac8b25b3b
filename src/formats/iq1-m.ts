import { floatToHalf, halfToFloat } from '../base/half.ts';
import { blockFormat } from './block-format.ts';
import { field } from './block-layout.ts';
import { IQ1_BOOK } from './codebooks.ts';
import { IQ1_DELTA, writeShifted } from './iq1-values.ts';

const HIGH = 32;
const SCALES = 48;

/**
 * 256 elements in 16 groups of 16, each `d * (2 * scale + 1)` times two ternary codebook entries of 8, each shifted up
 * or down by an eighth. Bytes: 32 of low entry bits; 16 with a nibble per entry: three upper bits and the sign of the
 * shift; four 16-bit words of four 3-bit scales, whose top nibbles together are the f16 `d`.
 */
export const IQ1_M = blockFormat({
  name: 'IQ1_M',
  ggmlType: 29,
  blockElements: 256,
  blockBytes: 56,
  layout: {
    levels: {
      kind: 'grid',
      book: IQ1_BOOK,
      width: 8,
      entry: [field(0, 8, [0, 0, 0, 8, 16, 32, 64, 128]), field(HIGH, 3, [0, 0, 0, 4, 8, 16, 32, 64])],
      change: { kind: 'shift', down: [field(HIGH, 1, [0, 0, 0, 4, 8, 16, 32, 64], 3)] },
    },
    scale: {
      as: 'half',
      number: [49, 51, 53, 55].map((byte) => field(byte, 4, [], 4)),
      unit: 1 / 8,
      sub: { number: [field(SCALES, 3, [0, 0, 0, 0, 3, 6, 16, 32])], as: 'odd' },
    },
  },
  decodeBlock(bytes, at, out, to) {
    const d = scaleOf(bytes, at + SCALES);
    for (let part = 0; part < 32; part++) {
      const word = bytes.getUint16(at + SCALES + 2 * (part >> 3), true);
      const scale = Math.fround(d * (2 * ((word >> (3 * ((part >> 1) & 3))) & 7) + 1));
      const nibble = (bytes.getUint8(at + HIGH + (part >> 1)) >> (4 * (part & 1))) & 15;
      const entry = bytes.getUint8(at + part) | ((nibble & 7) << 8);
      const delta = nibble & 8 ? -IQ1_DELTA : IQ1_DELTA;
      writeShifted(out, to + 8 * part, scale, { entry, delta });
    }
  },
  tame(bytes, at, deviation) {
    const half = floatToHalf(deviation / 7.18);
    for (let word = 0; word < 4; word++) {
      const scales = bytes.getUint16(at + SCALES + 2 * word, true) & 0x0fff;
      const nibble = (half >> (4 * word)) & 15;
      bytes.setUint16(at + SCALES + 2 * word, scales | (nibble << 12), true);
    }
  },
});

function scaleOf(bytes: DataView, at: number): number {
  let half = 0;
  for (let word = 0; word < 4; word++) half |= (bytes.getUint16(at + 2 * word, true) >> 12) << (4 * word);
  return halfToFloat(half);
}
