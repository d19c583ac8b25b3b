import { floatToHalf } from '../../base/half.ts';
import {
  type BlockSource,
  clear,
  extremeOf,
  type Group,
  groupOf,
  nearestWithin,
  squareOf,
} from './block-source.ts';
import type { FieldPacker } from './field-packer.ts';
import { fitAffine, fittedCode, WIDE_SEARCH } from './fit-affine.ts';
import { fitSigned } from './fit-signed.ts';

const { fround } = Math;

const ELEMENTS = 32;

/** A block of 32 elements with an f16 scale in its first bytes. */
export interface Block32 {
  readonly blockBytes: number;
  readonly codes: FieldPacker;
  /** The number of codes. */
  readonly levels: 16 | 32;
}

/** Encodes elements `d * (q - levels / 2)`. */
export function encodeSigned32(source: BlockSource, bytes: DataView, at: number, block: Block32): void {
  const limit = block.levels / 2;
  const { scale, codeOf } = source.importance ? weighedSigned(source, limit) : plainSigned(source, limit);
  clear(bytes, at, block.blockBytes);
  bytes.setUint16(at, floatToHalf(scale), true);
  writeCodes(source, bytes, at, { ...block, codeOf });
}

/** Encodes elements `d * q + m`, with `m` in the two bytes after `d`. */
export function encodeAffine32(source: BlockSource, bytes: DataView, at: number, block: Block32): void {
  const limit = block.levels - 1;
  const { scale, low, codeOf } = source.importance
    ? weighedAffine(source, limit)
    : plainAffine(source, limit);
  clear(bytes, at, block.blockBytes);
  bytes.setUint16(at, floatToHalf(scale), true);
  bytes.setUint16(at + 2, floatToHalf(low), true);
  writeCodes(source, bytes, at, { ...block, codeOf });
}

function plainSigned({ values, from }: BlockSource, limit: number) {
  const scale = fround(extremeOf(values, from, ELEMENTS) / -limit);
  const inverse = scale === 0 ? 0 : fround(1 / scale);
  const codeOf = (value: number) => truncated(value, inverse, limit + 0.5, 2 * limit - 1);
  return { scale, codeOf };
}

function weighedSigned(source: BlockSource, limit: number) {
  const { scale, inverse } = fitSigned(weighed(source), limit);
  const codeOf = (value: number) => limit + nearestWithin(fround(inverse * value), -limit, limit - 1);
  return { scale, codeOf };
}

function plainAffine({ values, from }: BlockSource, limit: number) {
  let low = values[from] as number;
  let high = low;
  for (let i = from + 1; i < from + ELEMENTS; i++) {
    const value = values[i] as number;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  const scale = fround(fround(high - low) / limit);
  const inverse = scale === 0 ? 0 : fround(1 / scale);
  const codeOf = (value: number) => truncated(fround(value - low), inverse, 0.5, limit);
  return { scale, low, codeOf };
}

function weighedAffine(source: BlockSource, limit: number) {
  const fit = fitAffine(weighed(source), limit, WIDE_SEARCH);
  return { scale: fit.scale, low: -fit.min, codeOf: (value: number) => fittedCode(value, fit, limit) };
}

function weighed(source: BlockSource): Group {
  return groupOf(source, 0, new Float32Array(ELEMENTS), source.meanSquare, squareOf);
}

/** `value * inverse + offset` in f32, truncated and clamped to 0 to `limit`. */
function truncated(value: number, inverse: number, offset: number, limit: number): number {
  const scaled = fround(fround(value * inverse) + offset);
  return Math.min(limit, Math.max(0, Math.trunc(scaled)));
}

function writeCodes(
  { values, from }: BlockSource,
  bytes: DataView,
  at: number,
  { codes, codeOf }: Block32 & { readonly codeOf: (value: number) => number },
): void {
  const numbers = new Uint8Array(ELEMENTS);
  for (let i = 0; i < ELEMENTS; i++) numbers[i] = codeOf(values[from + i] as number);
  codes.write(bytes, at, numbers);
}
