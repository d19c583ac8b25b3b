import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt } from './block-format.ts';
import { type BlockLayout, field, halfField } from './block-layout.ts';
import { writeSigned } from './codebook.ts';
import { IQ2_S_BOOK } from './codebooks.ts';
import { squareOf } from './encoding/block-source.ts';
import { Lattice } from './encoding/lattice.ts';
import { LatticeEncoder } from './encoding/lattice-blocks.ts';

const CODES = 2;
const SIGNS = 34;
const HIGH = 66;
const SCALES = 74;

const LAYOUT: BlockLayout = {
  levels: {
    kind: 'grid',
    book: IQ2_S_BOOK,
    width: 8,
    entry: [field(CODES, 8, [0, 0, 0, 8, 16, 32, 64, 128]), field(HIGH, 2, [0, 0, 0, 2, 4, 8, 16, 32])],
    change: { kind: 'signs', signs: [field(SIGNS, 8, [0, 0, 0, 8, 16, 32, 64, 128])], even: false },
  },
  scale: {
    as: 'half',
    number: halfField(0),
    unit: 1 / 8,
    sub: { number: [field(SCALES, 4, [0, 0, 0, 0, 4, 8, 16, 32])], as: 'odd' },
  },
};

const ENCODER = new LatticeEncoder({
  blockBytes: 82,
  layout: LAYOUT,
  lattice: new Lattice(IQ2_S_BOOK, 8, 1),
  group: 16,
  varianceFactor: 2,
  otherwise: (value, variance) => Math.fround(Math.fround(0.25 * variance) + squareOf(value)),
  tiny: 1e-8,
  candidates: 9,
  step: 0.1,
  again: 'off',
  correction: 0.9875,
});

/**
 * 256 elements in 16 groups of 16, each `d * (scale + 1/2) / 4` times two codebook entries of 8 with signs. Bytes: f16
 * `d`, 32 of low entry bits, 32 of signs, 8 of upper entry bit pairs, 8 of 4-bit scales.
 */
export const IQ2_S = blockFormat({
  name: 'IQ2_S',
  ggmlType: 22,
  blockElements: 256,
  blockBytes: 82,
  layout: LAYOUT,
  decodeBlock(bytes, at, out, to) {
    const d = halfAt(bytes, at);
    const book = IQ2_S_BOOK();
    for (let part = 0; part < 32; part++) {
      const nibble = (bytes.getUint8(at + SCALES + (part >> 2)) >> (4 * ((part >> 1) & 1))) & 15;
      const scale = Math.fround(d * (0.5 + nibble)) * 0.25;
      const high = (bytes.getUint8(at + HIGH + (part >> 2)) >> (2 * (part & 3))) & 3;
      const entry = bytes.getUint8(at + CODES + part) | (high << 8);
      const signs = bytes.getUint8(at + SIGNS + part);
      writeSigned(out, to + 8 * part, scale, { book, entry, width: 8, signs });
    }
  },
  encodeBlock(source, bytes, at) {
    ENCODER.encode(source, bytes, at);
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at, floatToHalf(deviation / 56), true);
  },
});
