import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt } from './block-format.ts';
import { type BlockLayout, field, halfField } from './block-layout.ts';
import { evenSigns, writeSigned } from './codebook.ts';
import { IQ2_XS_BOOK } from './codebooks.ts';
import { squareOf } from './encoding/block-source.ts';
import { Lattice } from './encoding/lattice.ts';
import { LatticeEncoder } from './encoding/lattice-blocks.ts';

const CODES = 2;
const SCALES = 66;

const LAYOUT: BlockLayout = {
  levels: {
    kind: 'grid',
    book: IQ2_XS_BOOK,
    width: 8,
    entry: [field(CODES, 9, [0, 0, 0, 16, 32, 64, 128, 256])],
    change: { kind: 'signs', signs: [field(CODES + 1, 7, [0, 0, 0, 16, 32, 64, 128, 256], 1)], even: true },
  },
  scale: {
    as: 'half',
    number: halfField(0),
    unit: 1 / 8,
    sub: { number: [field(SCALES, 4, [0, 0, 0, 0, 4, 8, 16, 32])], as: 'odd' },
  },
};

const ENCODER = new LatticeEncoder({
  blockBytes: 74,
  layout: LAYOUT,
  lattice: new Lattice(IQ2_XS_BOOK, 8, 2),
  group: 16,
  varianceFactor: 1,
  otherwise: (value, variance) => Math.fround(Math.sqrt(Math.fround(variance + squareOf(value)))),
  tiny: 1e-15,
  candidates: 9,
  step: 0.1,
  again: 'off',
  correction: 1,
});

/**
 * 256 elements in 16 groups of 16, each `d * (scale + 1/2) / 4` times two codebook entries of 8 with signs. Bytes: f16
 * `d`; 32 times 16 bits of entry number (9) and signs (7); 8 of 4-bit scales.
 */
export const IQ2_XS = blockFormat({
  name: 'IQ2_XS',
  ggmlType: 17,
  blockElements: 256,
  blockBytes: 74,
  layout: LAYOUT,
  decodeBlock(bytes, at, out, to) {
    const d = halfAt(bytes, at);
    const book = IQ2_XS_BOOK();
    for (let part = 0; part < 32; part++) {
      const nibble = (bytes.getUint8(at + SCALES + (part >> 2)) >> (4 * ((part >> 1) & 1))) & 15;
      const scale = Math.fround(d * (0.5 + nibble)) * 0.25;
      const code = bytes.getUint16(at + CODES + 2 * part, true);
      const signs = evenSigns(code >> 9);
      writeSigned(out, to + 8 * part, scale, { book, entry: code & 511, width: 8, signs });
    }
  },
  encodeBlock(source, bytes, at) {
    ENCODER.encode(source, bytes, at);
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at, floatToHalf(deviation / 56), true);
  },
});
