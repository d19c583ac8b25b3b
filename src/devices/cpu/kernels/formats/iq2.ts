/** IQ2_XXS, IQ2_XS, IQ2_S: eight columns a grid entry, levels 8, 25, 43 with signs; d / 8 * (2s + 1) * level. */
import { setGroupScale, setScale, SUB_SCALES } from '../canonical';
import { IQ2_S_GRID, IQ2_XS_GRID, IQ2_XXS_GRID } from '../grids';
import { widenHalf } from '../half';
import { eightCodes, evenSigns, storeCodes } from './grid-codes';

/** IQ2_XXS: f16 d; a group of 32: four u8 grid numbers, then a u32 of four times 7 signs and the scale in bits 28-31. */
@inline
export function unpackIq2Xxs(src: usize, t: usize): void {
  setScale(t, widenHalf(src) * 0.125);
  for (let g: u32 = 0; g < 8; g++) {
    const q = src + 2 + 8 * g;
    const bits = load<u32>(q + 4);
    setGroupScale(t, g, <i32>(2 * (bits >> 28) + 1));
    for (let half: u32 = 0; half < 2; half++) {
      const first = <u32>load<u16>(IQ2_XXS_GRID + 2 * <u32>load<u8>(q + 2 * half));
      const second = <u32>load<u16>(IQ2_XXS_GRID + 2 * <u32>load<u8>(q + 2 * half + 1));
      const signs = bits >> (14 * half);
      storeCodes(
        t + 32 * g + 16 * half,
        eightCodes(first, evenSigns(signs & 127)),
        eightCodes(second, evenSigns((signs >> 7) & 127)),
      );
    }
  }
}

/** Each group's byte at `scales`: the scales of its two halves, low nibble first. */
@inline
function unpackHalfScales(scales: usize, t: usize): void {
  for (let g: usize = 0; g < 8; g++) {
    const both = <u32>load<u8>(scales + g);
    store<u16>(t + SUB_SCALES + 2 * g, <u16>((2 * (both & 15) + 1) | ((2 * (both >> 4) + 1) << 8)));
  }
}

/** IQ2_XS: f16 d, 32 u16 (9 bits of grid number, 7 signs), 8 bytes of scales for halves of groups. */
@inline
export function unpackIq2Xs(src: usize, t: usize): void {
  setScale(t, widenHalf(src) * 0.125);
  unpackHalfScales(src + 66, t);
  for (let half: u32 = 0; half < 16; half++) {
    const first = <u32>load<u16>(src + 2 + 4 * half);
    const second = <u32>load<u16>(src + 4 + 4 * half);
    storeCodes(
      t + 16 * half,
      eightCodes(load<u16>(IQ2_XS_GRID + 2 * (first & 511)), evenSigns(first >> 9)),
      eightCodes(load<u16>(IQ2_XS_GRID + 2 * (second & 511)), evenSigns(second >> 9)),
    );
  }
}

/** IQ2_S: f16 d, 32 low bytes of grid numbers, 32 bytes of signs, 8 bytes of upper 2 bits, 8 bytes of scales. */
@inline
export function unpackIq2S(src: usize, t: usize): void {
  setScale(t, widenHalf(src) * 0.125);
  unpackHalfScales(src + 74, t);
  for (let half: u32 = 0; half < 16; half++) {
    const at = 2 * half;
    const upper = <u32>load<u8>(src + 66 + (half >> 1)) >> (4 * (half & 1));
    const first = <u32>load<u8>(src + 2 + at) | ((upper & 3) << 8);
    const second = <u32>load<u8>(src + 3 + at) | ((upper & 12) << 6);
    storeCodes(
      t + 16 * half,
      eightCodes(load<u16>(IQ2_S_GRID + 2 * first), load<u8>(src + 34 + at)),
      eightCodes(load<u16>(IQ2_S_GRID + 2 * second), load<u8>(src + 35 + at)),
    );
  }
}
