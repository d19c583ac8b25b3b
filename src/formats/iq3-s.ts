import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt } from './block-format.ts';
import { type BlockLayout, field, halfField } from './block-layout.ts';
import { writeSigned } from './codebook.ts';
import { IQ3_S_BOOK } from './codebooks.ts';
import { squareOf } from './encoding/block-source.ts';
import { Lattice } from './encoding/lattice.ts';
import { LatticeEncoder } from './encoding/lattice-blocks.ts';

const CODES = 2;
const HIGH = 66;
const SIGNS = 74;
const SCALES = 106;

const LAYOUT: BlockLayout = {
  levels: {
    kind: 'grid',
    book: IQ3_S_BOOK,
    width: 4,
    entry: [field(CODES, 8, [0, 0, 8, 16, 32, 64, 128, 256]), field(HIGH, 1, [0, 0, 1, 2, 4, 8, 16, 32])],
    change: { kind: 'signs', signs: [field(SIGNS, 8, [0, 0, 0, 8, 16, 32, 64, 128])], even: false },
  },
  scale: {
    as: 'half',
    number: halfField(0),
    unit: 1,
    sub: { number: [field(SCALES, 4, [0, 0, 0, 0, 0, 4, 8, 16])], as: 'odd' },
  },
};

const ENCODER = new LatticeEncoder({
  blockBytes: 110,
  layout: LAYOUT,
  lattice: new Lattice(IQ3_S_BOOK, 4, 3),
  group: 32,
  varianceFactor: 2,
  otherwise: squareOf,
  tiny: 0,
  candidates: 9,
  step: 0.2,
  again: 'all-if-off',
  correction: 1.033,
});

/**
 * 256 elements in 8 groups of 32, each `d * (2 * scale + 1)` times eight codebook entries of 4 with signs. Bytes: f16
 * `d`, 64 of low entry bits, 8 of ninth bits (one byte per group), 32 of signs, 4 of 4-bit scales.
 */
export const IQ3_S = blockFormat({
  name: 'IQ3_S',
  ggmlType: 21,
  blockElements: 256,
  blockBytes: 110,
  layout: LAYOUT,
  decodeBlock(bytes, at, out, to) {
    const d = halfAt(bytes, at);
    const book = IQ3_S_BOOK();
    for (let part = 0; part < 64; part++) {
      const group = part >> 3;
      const nibble = (bytes.getUint8(at + SCALES + (group >> 1)) >> (4 * (group & 1))) & 15;
      const scale = Math.fround(d * (1 + 2 * nibble));
      const ninth = (bytes.getUint8(at + HIGH + group) >> (part & 7)) & 1;
      const entry = bytes.getUint8(at + CODES + part) | (ninth << 8);
      const signs = bytes.getUint8(at + SIGNS + (part >> 1)) >> (4 * (part & 1));
      writeSigned(out, to + 4 * part, scale, { book, entry, width: 4, signs });
    }
  },
  encodeBlock(source, bytes, at) {
    ENCODER.encode(source, bytes, at);
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at, floatToHalf(deviation / 141), true);
  },
});
