import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt } from './block-format.ts';
import { type BlockLayout, field, halfField } from './block-layout.ts';
import { evenSigns, writeSigned } from './codebook.ts';
import { IQ3_XXS_BOOK } from './codebooks.ts';
import { squareOf } from './encoding/block-source.ts';
import { Lattice } from './encoding/lattice.ts';
import { LatticeEncoder } from './encoding/lattice-blocks.ts';

const CODES = 2;
const SIGNS = 66;

const LAYOUT: BlockLayout = {
  levels: {
    kind: 'grid',
    book: IQ3_XXS_BOOK,
    width: 4,
    entry: [field(CODES, 8, [0, 0, 8, 16, 32, 64, 128, 256])],
    change: { kind: 'signs', signs: [field(SIGNS, 7, [0, 0, 0, 7, 14, 32, 64, 128])], even: true },
  },
  scale: {
    as: 'half',
    number: halfField(0),
    unit: 1 / 4,
    sub: { number: [field(SIGNS + 3, 4, [0, 0, 0, 0, 0, 32, 64, 128], 4)], as: 'odd' },
  },
};

const ENCODER = new LatticeEncoder({
  blockBytes: 98,
  layout: LAYOUT,
  lattice: new Lattice(IQ3_XXS_BOOK, 4, 2),
  group: 32,
  varianceFactor: 2,
  otherwise: squareOf,
  tiny: 1e-8,
  candidates: 15,
  step: 0.2,
  again: 'off',
  correction: 1.0125,
});

/**
 * 256 elements in 8 groups of 32, each `d * (scale + 1/2) / 2` times eight codebook entries of 4 with signs. Bytes: f16
 * `d`; 64 entry numbers; 32 bits per group: four times seven signs (for 8 elements), and the 4-bit scale on top.
 */
export const IQ3_XXS = blockFormat({
  name: 'IQ3_XXS',
  ggmlType: 18,
  blockElements: 256,
  blockBytes: 98,
  layout: LAYOUT,
  decodeBlock(bytes, at, out, to) {
    const d = halfAt(bytes, at);
    const book = IQ3_XXS_BOOK();
    for (let group = 0; group < 8; group++) {
      const bits = bytes.getUint32(at + SIGNS + 4 * group, true);
      const scale = Math.fround(d * (0.5 + (bits >>> 28))) * 0.5;
      for (let part = 0; part < 8; part++) {
        const entry = bytes.getUint8(at + CODES + 8 * group + part);
        const eight = evenSigns((bits >>> (7 * (part >> 1))) & 127);
        const signs = eight >> (4 * (part & 1));
        writeSigned(out, to + 32 * group + 4 * part, scale, { book, entry, width: 4, signs });
      }
    }
  },
  encodeBlock(source, bytes, at) {
    ENCODER.encode(source, bytes, at);
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at, floatToHalf(deviation / 141), true);
  },
});
