/** IQ3_XXS and IQ3_S: four columns a grid entry, eight levels with signs. */
import { setGroupScale, setScale } from '../canonical';
import { IQ3_S_GRID, IQ3_XXS_GRID } from '../grids';
import { widenHalf } from '../half';
import { evenSigns, storeCodes, twiceFourCodes } from './grid-codes';

/** IQ3_XXS: f16 d, 64 u8 grid numbers, 8 u32 of four times 7 signs and a scale; d / 4 * (2s + 1) * level. */
@inline
export function unpackIq3Xxs(src: usize, t: usize): void {
  setScale(t, widenHalf(src) * 0.25);
  for (let g: u32 = 0; g < 8; g++) {
    const bits = load<u32>(src + 66 + 4 * g);
    setGroupScale(t, g, <i32>(2 * (bits >> 28) + 1));
    for (let half: u32 = 0; half < 2; half++) {
      const q = src + 2 + 8 * g + 4 * half;
      const signs = bits >> (14 * half);
      storeCodes(t + 32 * g + 16 * half, xxsCodes(q, signs & 127), xxsCodes(q + 2, (signs >> 7) & 127));
    }
  }
}

@inline
function xxsCodes(q: usize, signs: u32): v128 {
  const first = <u32>load<u16>(IQ3_XXS_GRID + 2 * <u32>load<u8>(q));
  const second = <u32>load<u16>(IQ3_XXS_GRID + 2 * <u32>load<u8>(q + 1));
  return twiceFourCodes(first, second, evenSigns(signs));
}

/**
 * IQ3_S: f16 d, 64 low bytes of grid numbers, 8 bytes of ninth bits, 32 bytes of signs, 4 bytes of scales (a nibble a
 * group); d * (2s + 1) * level. The levels are the odd numbers, so codes are made linear: 2q - 15 is the signed level.
 */
@inline
export function unpackIq3S(src: usize, t: usize): void {
  setScale(t, widenHalf(src));
  for (let g: u32 = 0; g < 8; g++) {
    const scale = (<u32>load<u8>(src + 106 + (g >> 1)) >> (4 * (g & 1))) & 15;
    setGroupScale(t, g, <i32>(2 * scale + 1));
    const ninth = <u32>load<u8>(src + 66 + g);
    for (let half: u32 = 0; half < 2; half++) {
      const q = src + 2 + 8 * g + 4 * half;
      const signs = src + 74 + 4 * g + 2 * half;
      const upper = ninth >> (4 * half);
      storeCodes(
        t + 32 * g + 16 * half,
        linearCodes(q, upper, load<u8>(signs)),
        linearCodes(q + 2, upper >> 2, load<u8>(signs + 1)),
      );
    }
  }
}

@inline
function linearCodes(q: usize, upper: u32, signs: u32): v128 {
  const first = <u32>load<u8>(q) | ((upper & 1) << 8);
  const second = <u32>load<u8>(q + 1) | ((upper & 2) << 7);
  const codes = twiceFourCodes(load<u16>(IQ3_S_GRID + 2 * first), load<u16>(IQ3_S_GRID + 2 * second), signs);
  // Code c is level 2c + 1; with the sign bit its negative. 8 + c and 7 - c are their places among the odd numbers.
  const negative = i16x8.gt_s(codes, i16x8.splat(7));
  return v128.xor(v128.or(codes, i16x8.splat(8)), v128.and(negative, i16x8.splat(15)));
}
