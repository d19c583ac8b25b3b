import { lazyCodebook } from './codebook.ts';
import { Lattice } from './encoding/lattice.ts';
import { IQ1_CODES } from './tables/iq1-codes.ts';
import { IQ2_S_CODES } from './tables/iq2-s-codes.ts';
import { IQ2_XS_CODES } from './tables/iq2-xs-codes.ts';
import { IQ2_XXS_CODES } from './tables/iq2-xxs-codes.ts';
import { IQ3_S_CODES } from './tables/iq3-s-codes.ts';
import { IQ3_XXS_CODES } from './tables/iq3-xxs-codes.ts';

const TERNARY = [-1, 0, 1];
const THREE = [8, 25, 43];

/** 2048 entries of 8. */
export const IQ1_BOOK = lazyCodebook(IQ1_CODES, TERNARY, 8);

/** The same for encoders. */
export const IQ1_LATTICE = new Lattice(IQ1_BOOK, 8, 3);

/** 256 entries of 8. */
export const IQ2_XXS_BOOK = lazyCodebook(IQ2_XXS_CODES, THREE, 8);

/** 512 entries of 8. */
export const IQ2_XS_BOOK = lazyCodebook(IQ2_XS_CODES, THREE, 8);

/** 1024 entries of 8. */
export const IQ2_S_BOOK = lazyCodebook(IQ2_S_CODES, THREE, 8);

/** 256 entries of 4. */
export const IQ3_XXS_BOOK = lazyCodebook(IQ3_XXS_CODES, [4, 12, 20, 28, 36, 44, 52, 62], 4);

/** 512 entries of 4. */
export const IQ3_S_BOOK = lazyCodebook(IQ3_S_CODES, [1, 3, 5, 7, 9, 11, 13, 15], 4);
