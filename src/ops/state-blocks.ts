import { alignUp } from '../base/bytes.ts';
import { floatToHalf, halfToFloat } from '../base/half.ts';
import { Q8_0 } from '../formats/q8-0.ts';

/** Elements of a row that share a scale in a state of blocks; head sizes are multiples of it. */
export const STATE_BLOCK = 32;

/** The types of states that are stored in blocks. */
export type BlockType = 'q8_0' | 'q4_0' | 'q5_1';

/** How a block of `STATE_BLOCK` elements is stored: some bytes in each of two planes. */
export interface StateBlockFormat {
  readonly quantBytes: number;
  readonly scaleBytes: number;
  /** Quantizes 32 f32 values. */
  encode(values: Float32Array, quants: Uint8Array, scale: Uint8Array): void;
  /** Element `i` of a block. */
  element(quants: Uint8Array, scale: Uint8Array, i: number): number;
}

/** True for types that are stored in blocks. */
export function isBlockType(type: string): type is BlockType {
  return Object.hasOwn(STATE_BLOCKS, type);
}

/** The layout of a state of blocks, in bytes from its start. */
export interface StateBlockPlanes {
  /** Bytes of the quants of a row. */
  readonly quantBytes: number;
  /** Offset of the scales. */
  readonly scales: number;
  /** Bytes of the scales of a row. */
  readonly scaleBytes: number;
  readonly byteLength: number;
}

/**
 * A state of blocks is two planes: first the quants of all blocks, then their scales, padded to a 32-bit word. So quants
 * start at multiples of 16 bytes, and one block number addresses both.
 */
export function stateBlockPlanes(type: BlockType, rows: number, width: number): StateBlockPlanes {
  const format = STATE_BLOCKS[type];
  const quantBytes = (format.quantBytes * width) / STATE_BLOCK;
  const scaleBytes = (format.scaleBytes * width) / STATE_BLOCK;
  const scales = rows * quantBytes;
  return { quantBytes, scales, scaleBytes, byteLength: alignUp(scales + rows * scaleBytes, 4) };
}

const INFINITE_HALF = 0x7c00;
const NAN_HALF = 0x7e00;
const SIGN = 0x8000;

/**
 * Quantizes a block like ggml's `quantize_row_q8_0_ref`: `d = max|x| / 127` in f32, `quant = round(x * (1 / d))`,
 * rounding ties away from zero, and the scale is `d` rounded to f16. Returns the scale's bits, and writes 32 signed
 * bytes to `quants`. Two cases are defined here so that they do not depend on a device's arithmetic: if the scale
 * rounds to zero, the quants are zero; and a block with a NaN, an infinity or a scale beyond f16 becomes zeros with a
 * NaN scale (0x7e00). `values` are 32 f32.
 */
export function quantizeStateBlock(values: Float32Array, quants: Int8Array): number {
  const block = new Uint8Array(Q8_0.blockBytes);
  Q8_0.encode?.(values, 0, block, 0, 1);
  const scale = (block[0] as number) | ((block[1] as number) << 8);
  if (scale >= INFINITE_HALF || !values.every(Number.isFinite)) {
    quants.fill(0);
    return NAN_HALF;
  }
  if (scale > 0) quants.set(new Int8Array(block.buffer, 2));
  else quants.fill(0);
  return scale;
}

/** The bits of `x` as f16, NaN (0x7e00) for what f16 cannot hold. */
function halfOrNan(x: number): number {
  const bits = floatToHalf(x);
  return (bits & ~SIGN) >= INFINITE_HALF ? NAN_HALF : bits;
}

/** `x` as an integer, ties away from zero; `x` is an f32. */
function rounded(x: number): number {
  const whole = Math.trunc(x);
  return whole + Math.trunc(2 * (x - whole));
}

/** Writes the low four bits of 32 levels, those of neighbouring elements into a byte, the first one lowest. */
function writeNibbles(levels: ArrayLike<number>, quants: Uint8Array): void {
  for (let i = 0; i < STATE_BLOCK / 2; i++) {
    quants[i] = ((levels[2 * i] as number) & 15) | (((levels[2 * i + 1] as number) & 15) << 4);
  }
}

function nibble(quants: Uint8Array, i: number): number {
  return ((quants[i >> 1] as number) >> (4 * (i & 1))) & 15;
}

function halfAt(bytes: Uint8Array, at: number): number {
  return (bytes[at] as number) | ((bytes[at + 1] as number) << 8);
}

function writeHalf(bits: number, bytes: Uint8Array, at: number): void {
  bytes[at] = bits & 255;
  bytes[at + 1] = bits >> 8;
}

/**
 * `x = d * (level - 8)`: `d` is an eighth of the value of largest magnitude, the first of several, with the opposite
 * sign, as in ggml's `quantize_row_q4_0_ref`; `level = round(x * (1 / d)) + 8` at most 15, ties away from zero. If `d`
 * rounds to zero in f16 or is no number there, levels are 8.
 */
function encodeNibbles(values: Float32Array, quants: Uint8Array, scale: Uint8Array): void {
  let extreme = 0;
  for (const value of values) if (Math.abs(value) > Math.abs(extreme)) extreme = value;
  const d = Math.fround(extreme / -8);
  const bits = values.every(Number.isFinite) ? halfOrNan(d) : NAN_HALF;
  const isPlain = (bits & ~SIGN) > 0 && bits !== NAN_HALF;
  const inverse = isPlain ? Math.fround(1 / d) : 0;
  const level = (x: number) => Math.min(15, rounded(Math.fround(x * inverse)) + 8);
  writeNibbles(Array.from(values, isPlain ? level : () => 8), quants);
  // A zero has no sign, whatever block it is of.
  writeHalf((bits & ~SIGN) === 0 ? 0 : bits, scale, 0);
}

/**
 * `x = d * level + m`, levels of 0 to 31: `m` is the smallest value, `d` the range's 31st part, as in ggml's
 * `quantize_row_q5_1_ref`. The scale is `d` and `m` in f16, followed by the levels' fifth bits. If `d` rounds to zero,
 * levels are 0; if `d` or `m` is no number in f16, both are NaN.
 */
function encodeFiveBits(values: Float32Array, quants: Uint8Array, scale: Uint8Array): void {
  const least = values.reduce((a, b) => Math.min(a, b)) || 0;
  const most = values.reduce((a, b) => Math.max(a, b));
  const d = Math.fround(Math.fround(most - least) / 31);
  const halves = [halfOrNan(d), halfOrNan(least)] as const;
  const isNumber = values.every(Number.isFinite) && !halves.includes(NAN_HALF);
  const inverse = isNumber && halves[0] > 0 ? Math.fround(1 / d) : 0;
  const level = (x: number) => rounded(Math.fround(Math.fround(x - least) * inverse));
  const levels = Array.from(values, (x) => (inverse > 0 ? Math.min(31, level(x)) : 0));
  writeNibbles(levels, quants);
  writeHalf(isNumber ? halves[0] : NAN_HALF, scale, 0);
  writeHalf(isNumber ? halves[1] : NAN_HALF, scale, 2);
  for (let byte = 0; byte < 4; byte++) {
    let bits = 0;
    for (let i = 0; i < 8; i++) bits |= ((levels[8 * byte + i] as number) >> 4) << i;
    scale[4 + byte] = bits;
  }
}

/** The formats of blocks: bytes of a block in each plane, and what they mean. */
export const STATE_BLOCKS: Readonly<Record<BlockType, StateBlockFormat>> = {
  q8_0: {
    quantBytes: 32,
    scaleBytes: 2,
    encode: (values, quants, scale) => {
      const signed = new Int8Array(quants.buffer, quants.byteOffset, STATE_BLOCK);
      writeHalf(quantizeStateBlock(values, signed), scale, 0);
    },
    element: (quants, scale, i) => halfToFloat(halfAt(scale, 0)) * (((quants[i] as number) << 24) >> 24),
  },
  q4_0: {
    quantBytes: 16,
    scaleBytes: 2,
    encode: encodeNibbles,
    element: (quants, scale, i) => halfToFloat(halfAt(scale, 0)) * (nibble(quants, i) - 8),
  },
  q5_1: {
    quantBytes: 16,
    scaleBytes: 8,
    encode: encodeFiveBits,
    element: (quants, scale, i) => {
      const fifth = ((scale[4 + (i >> 3)] as number) >> (i & 7)) & 1;
      const level = nibble(quants, i) | (fifth << 4);
      return halfToFloat(halfAt(scale, 0)) * level + halfToFloat(halfAt(scale, 2));
    },
  },
};
