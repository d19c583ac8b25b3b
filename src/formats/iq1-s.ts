import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt } from './block-format.ts';
import { type BlockLayout, field, halfField } from './block-layout.ts';
import { IQ1_BOOK, IQ1_LATTICE } from './codebooks.ts';
import { IQ1_DELTA, writeShifted } from './iq1-values.ts';
import { clear, extremeOf, groupOf, meanSquareOf, squareOf } from './encoding/block-source.ts';
import { FieldPacker } from './encoding/field-packer.ts';
import { fitTernary, oddNumbers } from './encoding/ternary-lattice.ts';

const CODES = 2;
const HIGH = 34;
const ENTRY = [field(CODES, 8, [0, 0, 0, 8, 16, 32, 64, 128]), field(HIGH, 3, [0, 0, 0, 3, 6, 16, 32, 64])];
const SHIFT = [field(HIGH + 1, 1, [0, 0, 0, 0, 0, 16, 32, 64], 7)];
const SUB_SCALE = [field(HIGH + 1, 3, [0, 0, 0, 0, 0, 16, 32, 64], 4)];

const LAYOUT: BlockLayout = {
  levels: {
    kind: 'grid',
    book: IQ1_BOOK,
    width: 8,
    entry: ENTRY,
    change: { kind: 'shift', down: SHIFT },
  },
  scale: {
    as: 'half',
    number: halfField(0),
    unit: 1 / 8,
    sub: { number: SUB_SCALE, as: 'odd' },
  },
};

const { fround } = Math;

const PACKERS = {
  entries: new FieldPacker(ENTRY, 256, 8),
  shifts: new FieldPacker(SHIFT, 256, 32),
  scales: new FieldPacker(SUB_SCALE, 256, 32),
};

/** Groups below this magnitude are zeros. */
const TINY = fround(1e-12);

/** A little more than the best scale is best in the end. */
const CORRECTION = 1.125;

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
  layout: LAYOUT,
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
  encodeBlock(source, bytes, at) {
    const variance = 2 * meanSquareOf(source.values, source.from, 256);
    const weights = new Float32Array(32);
    const scales = new Float32Array(8);
    const shifts = new Uint8Array(8);
    const entries = new Uint16Array(32);
    for (let i = 0; i < 8; i++) {
      const group = groupOf(source, 32 * i, weights, variance, (value) =>
        fround(Math.sqrt(fround(variance + squareOf(value)))),
      );
      if (Math.abs(extremeOf(group.values, group.from, 32)) < TINY) continue;
      const fit = fitTernary(group, IQ1_LATTICE, 1);
      if (!fit) continue;
      scales[i] = fit.scale;
      shifts[i] = fit.down[0] ? 1 : 0;
      entries.set(fit.entries, 4 * i);
    }
    clear(bytes, at, 50);
    const largest = Math.max(...scales);
    if (largest === 0) return;
    const d = fround(largest / 15);
    bytes.setUint16(at, floatToHalf(fround(d * CORRECTION)), true);
    PACKERS.entries.write(bytes, at, entries);
    PACKERS.shifts.write(bytes, at, shifts);
    PACKERS.scales.write(bytes, at, oddNumbers(scales, d));
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at, floatToHalf(deviation / 7.18), true);
  },
});
