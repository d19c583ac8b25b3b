import { floatToHalf, halfToFloat } from '../base/half.ts';
import { blockFormat } from './block-format.ts';
import { type BlockLayout, field } from './block-layout.ts';
import { IQ1_BOOK, IQ1_LATTICE } from './codebooks.ts';
import { clear, extremeOf, type Group, groupOf, meanSquareOf, squareOf } from './encoding/block-source.ts';
import { FieldPacker } from './encoding/field-packer.ts';
import { fitTernary, oddNumbers, SHIFTED } from './encoding/ternary-lattice.ts';
import { IQ1_DELTA, writeShifted } from './iq1-values.ts';

const HIGH = 32;
const SCALES = 48;
const ENTRY = [field(0, 8, [0, 0, 0, 8, 16, 32, 64, 128]), field(HIGH, 3, [0, 0, 0, 4, 8, 16, 32, 64])];
const SHIFT = [field(HIGH, 1, [0, 0, 0, 4, 8, 16, 32, 64], 3)];
const SCALE = [49, 51, 53, 55].map((byte) => field(byte, 4, [], 4));
const SUB_SCALE = [field(SCALES, 3, [0, 0, 0, 0, 3, 6, 16, 32])];

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
    number: SCALE,
    unit: 1 / 8,
    sub: { number: SUB_SCALE, as: 'odd' },
  },
};

const { fround } = Math;

const PACKERS = {
  entries: new FieldPacker(ENTRY, 256, 8),
  shifts: new FieldPacker(SHIFT, 256, 8),
  scale: new FieldPacker(SCALE, 256, 256),
  scales: new FieldPacker(SUB_SCALE, 256, 16),
};

/** Groups below this magnitude are zeros. */
const TINY = fround(1e-7);

/** A little more than the best scale is best in the end. */
const CORRECTION = fround(1.1125);

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
  layout: LAYOUT,
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
  encodeBlock(source, bytes, at) {
    const variance = 2 * meanSquareOf(source.values, source.from, 256);
    const scales = new Float32Array(16);
    const shifts = new Uint8Array(32);
    const entries = new Uint16Array(32);
    const groups = Array.from({ length: 16 }, (_, i) =>
      groupOf(source, 16 * i, new Float32Array(16), variance, squareOf),
    );
    for (const [i, group] of groups.entries()) {
      if (Math.abs(extremeOf(group.values, group.from, 16)) < TINY) continue;
      const fit = fitTernary(group, IQ1_LATTICE, 2);
      if (!fit) continue;
      scales[i] = fit.scale;
      shifts.set(fit.down.map(Number), 2 * i);
      entries.set(fit.entries, 2 * i);
    }
    clear(bytes, at, 56);
    const largest = Math.max(...scales);
    if (largest === 0) return;
    const first = fround(largest / 15);
    const numbers = oddNumbers(scales, first);
    const d = commonScale(groups, { numbers, shifts, entries }) ?? first;
    PACKERS.entries.write(bytes, at, entries);
    PACKERS.shifts.write(bytes, at, shifts);
    PACKERS.scales.write(bytes, at, numbers);
    PACKERS.scale.write(bytes, at, [floatToHalf(fround(d * CORRECTION))]);
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

/** The best scale of a block by least squares, when all else is decided. */
function commonScale(
  groups: readonly Group[],
  {
    numbers,
    shifts,
    entries,
  }: { readonly numbers: readonly number[]; readonly shifts: Uint8Array; readonly entries: Uint16Array },
): number | undefined {
  let products = 0;
  let squares = 0;
  for (const [i, { values, from, weights }] of groups.entries()) {
    for (let element = 0; element < 16; element++) {
      const run = 2 * i + (element >> 3);
      const levels = shifts[run] ? SHIFTED.down : SHIFTED.up;
      const rank = IQ1_LATTICE.ranks[8 * (entries[run] as number) + (element & 7)] as number;
      const level = fround((levels[rank] as number) * (2 * (numbers[i] as number) + 1));
      const weighed = fround((weights[element] as number) * level);
      products = fround(products + fround(weighed * (values[from + element] as number)));
      squares = fround(squares + fround(weighed * level));
    }
  }
  return squares > 0 ? fround(products / squares) : undefined;
}
