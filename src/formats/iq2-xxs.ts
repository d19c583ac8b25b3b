import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt } from './block-format.ts';
import { type BlockLayout, field, halfField } from './block-layout.ts';
import { evenSigns, writeSigned } from './codebook.ts';
import { IQ2_XXS_BOOK } from './codebooks.ts';
import { squareOf } from './encoding/block-source.ts';
import { Lattice } from './encoding/lattice.ts';
import { encodeBest, LatticeEncoder, type LatticeSpec } from './encoding/lattice-blocks.ts';

const GROUPS = 2;

const LAYOUT: BlockLayout = {
  levels: {
    kind: 'grid',
    book: IQ2_XXS_BOOK,
    width: 8,
    entry: [field(GROUPS, 8, [0, 0, 0, 8, 16, 64, 128, 256])],
    change: { kind: 'signs', signs: [field(GROUPS + 4, 7, [0, 0, 0, 7, 14, 64, 128, 256])], even: true },
  },
  scale: {
    as: 'half',
    number: halfField(0),
    unit: 1 / 8,
    sub: { number: [field(GROUPS + 7, 4, [0, 0, 0, 0, 0, 64, 128, 256], 4)], as: 'odd' },
  },
};

const SPEC = {
  blockBytes: 66,
  layout: LAYOUT,
  lattice: new Lattice(IQ2_XXS_BOOK, 8, 2),
  group: 32,
  varianceFactor: 1,
  otherwise: (value, variance) => Math.fround(Math.sqrt(Math.fround(variance + squareOf(value)))),
  tiny: 1e-15,
  candidates: 6,
  step: 0.1,
  again: 'all',
  correction: 1,
} as const satisfies LatticeSpec;

/** Neither first scale is always the better one: with ggml's, no block has a larger error than ggml's. */
const ENCODERS = (['numbers', 'bytes'] as const).map(
  (fitsFirst) => new LatticeEncoder({ ...SPEC, fitsFirst }),
);

/**
 * 256 elements in 8 groups of 32, each `d * (scale + 1/2) / 4` times four codebook entries of 8 with signs. Bytes: f16
 * `d`; per group four entry numbers, then 32 bits: four times seven signs, and the 4-bit scale on top.
 */
export const IQ2_XXS = blockFormat({
  name: 'IQ2_XXS',
  ggmlType: 16,
  blockElements: 256,
  blockBytes: 66,
  layout: LAYOUT,
  decodeBlock(bytes, at, out, to) {
    const d = halfAt(bytes, at);
    const book = IQ2_XXS_BOOK();
    for (let group = 0; group < 8; group++) {
      const from = at + GROUPS + 8 * group;
      const bits = bytes.getUint32(from + 4, true);
      const scale = Math.fround(d * (0.5 + (bits >>> 28))) * 0.25;
      for (let part = 0; part < 4; part++) {
        const entry = bytes.getUint8(from + part);
        const signs = evenSigns((bits >>> (7 * part)) & 127);
        writeSigned(out, to + 32 * group + 8 * part, scale, { book, entry, width: 8, signs });
      }
    }
  },
  encodeBlock(source, bytes, at) {
    encodeBest(ENCODERS, IQ2_XXS, { source, bytes, at });
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at, floatToHalf(deviation / 53.3), true);
  },
});
