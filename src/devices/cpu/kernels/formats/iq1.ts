/** IQ1_S and IQ1_M: eight columns a grid entry of -1, 0, 1, each moved by an eighth up or down; d / 8 * (2s + 1) * level. */
import { setGroupScale, setScale, SUB_SCALES } from '../canonical';
import { IQ1_GRID } from '../grids';
import { widenHalf, widenHalfBits } from '../half';
import { eightCodes, storeCodes } from './grid-codes';

/** The codes of a grid entry: levels -7, 1, 9, or with the sign bit, which here says "down", -9, -1, 7. */
@inline
function movedCodes(number: u32, down: u32): v128 {
  return eightCodes(load<u16>(IQ1_GRID + 2 * number), down ? 255 : 0);
}

/** IQ1_S: f16 d, 32 low bytes of grid numbers, 8 u16: four times 3 upper bits, 3 bits of scale, bit 15 for down. */
@inline
export function unpackIq1S(src: usize, t: usize): void {
  setScale(t, widenHalf(src) * 0.125);
  for (let g: u32 = 0; g < 8; g++) {
    const bits = <u32>load<u16>(src + 34 + 2 * g);
    setGroupScale(t, g, <i32>(2 * ((bits >> 12) & 7) + 1));
    for (let half: u32 = 0; half < 2; half++) {
      const q = src + 2 + 4 * g + 2 * half;
      const upper = bits >> (6 * half);
      storeCodes(
        t + 32 * g + 16 * half,
        movedCodes(<u32>load<u8>(q) | ((upper & 7) << 8), bits & 0x8000),
        movedCodes(<u32>load<u8>(q + 1) | ((upper & 56) << 5), bits & 0x8000),
      );
    }
  }
}

/**
 * IQ1_M: 32 low bytes of grid numbers, 16 bytes of two nibbles each (3 upper bits, bit 3 for down), 4 u16: four 3-bit
 * scales for halves of groups, and in bits 12-15 a quarter of the f16 d.
 */
@inline
export function unpackIq1M(src: usize, t: usize): void {
  const scales = src + 48;
  const d =
    (<u32>load<u16>(scales) >> 12) |
    ((<u32>load<u16>(scales + 2) >> 8) & 0xf0) |
    ((<u32>load<u16>(scales + 4) >> 4) & 0xf00) |
    (<u32>load<u16>(scales + 6) & 0xf000);
  setScale(t, widenHalfBits(d) * 0.125);
  for (let half: u32 = 0; half < 16; half++) {
    const scale = (<u32>load<u16>(scales + 2 * (half >> 2)) >> (3 * (half & 3))) & 7;
    store<i8>(t + SUB_SCALES + half, <i8>(2 * scale + 1));
    const q = src + 2 * half;
    const upper = <u32>load<u8>(src + 32 + half);
    storeCodes(
      t + 16 * half,
      movedCodes(<u32>load<u8>(q) | ((upper & 7) << 8), upper & 8),
      movedCodes(<u32>load<u8>(q + 1) | ((upper & 0x70) << 4), upper & 0x80),
    );
  }
}
