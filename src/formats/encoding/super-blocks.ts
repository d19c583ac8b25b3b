import { floatToHalf, halfToFloat } from '../../base/half.ts';
import {
  type BlockSource,
  clear,
  extremeOf,
  groupByImportance,
  groupOf,
  loadBlock,
  meanSquareOf,
  nearest,
  nearestWithin,
  squareOf,
} from './block-source.ts';
import type { FieldPacker } from './field-packer.ts';
import { WIDE_SEARCH } from './fit-affine.ts';
import { fitSigned, fitUnsigned } from './fit-signed.ts';
import type { AffineSearch } from '../group-fits.ts';

const { fround } = Math;

const ELEMENTS = 256;

/** Where a block of 256 elements `d * scale * q - dmin * min` has its numbers, and how large they may be. */
export interface AffineSuperBlock {
  readonly blockBytes: number;
  /** The bytes of `d` and `dmin`. */
  readonly scaleAt: number;
  readonly minAt: number;
  readonly codes: FieldPacker;
  readonly scales: FieldPacker;
  readonly mins: FieldPacker;
  /** Elements per group. */
  readonly group: number;
  /** The largest code, and the largest scale and min. */
  readonly limit: number;
  readonly scaleLimit: number;
  /** The search without importance, and what is added to the magnitude of an element for its weight: a share of the group's. */
  readonly search: AffineSearch;
  readonly typicalShare: 0 | 1;
  /** What the block's mean square is multiplied by in the weights by importance. */
  readonly varianceFactor: 1 | 2;
}

/** Encodes a block of groups with scales and mins. */
export function encodeAffineSuperBlock(
  source: BlockSource,
  bytes: DataView,
  at: number,
  spec: AffineSuperBlock,
): void {
  clear(bytes, at, spec.blockBytes);
  const { scale, min } = source.importance ? fitWeighed(source, spec) : fitPlain(source, spec);
  bytes.setUint16(at + spec.scaleAt, floatToHalf(scale.unit), true);
  bytes.setUint16(at + spec.minAt, floatToHalf(min.unit), true);
  spec.scales.write(bytes, at, scale.numbers);
  spec.mins.write(bytes, at, min.numbers);
  const d = halfToFloat(bytes.getUint16(at + spec.scaleAt, true));
  const dmin = halfToFloat(bytes.getUint16(at + spec.minAt, true));
  const codes = new Uint8Array(ELEMENTS);
  for (let from = 0; from < ELEMENTS; from += spec.group) {
    const group = from / spec.group;
    const groupScale = fround(d * (scale.numbers[group] as number));
    if (groupScale === 0) continue;
    const groupMin = fround(dmin * (min.numbers[group] as number));
    for (let i = from; i < from + spec.group; i++) {
      const shifted = fround((source.values[source.from + i] as number) + groupMin);
      codes[i] = nearestWithin(fround(shifted / groupScale), 0, spec.limit);
    }
  }
  spec.codes.write(bytes, at, codes);
}

/** Numbers in units of one scale. */
interface Scaled {
  readonly unit: number;
  readonly numbers: ArrayLike<number>;
}

function fitPlain(source: BlockSource, spec: AffineSuperBlock): { scale: Scaled; min: Scaled } {
  const { fits } = source;
  const { values, weights } = loadBlock(source);
  for (let from = 0; from < ELEMENTS; from += spec.group) {
    const mean = spec.typicalShare * meanSquareOf(values, from, spec.group);
    const typical = fround(Math.sqrt(mean));
    for (let i = from; i < from + spec.group; i++) weights[i] = typical + Math.abs(values[i] as number);
  }
  fits.affine(spec.group, spec.limit, spec.search);
  const groups = ELEMENTS / spec.group;
  return {
    scale: byLargest(fits.scales, groups, spec.scaleLimit),
    min: byLargest(fits.mins, groups, spec.scaleLimit),
  };
}

function byLargest(fitted: Float32Array, groups: number, limit: number): Scaled {
  let largest = 0;
  for (let i = 0; i < groups; i++) largest = Math.max(largest, fitted[i] as number);
  const inverse = largest > 0 ? fround(limit / largest) : 0;
  const numbers = new Uint8Array(groups);
  for (let i = 0; i < groups; i++) {
    numbers[i] = Math.min(limit, nearest(fround(inverse * (fitted[i] as number))) & 0xff);
  }
  return { unit: fround(largest / limit), numbers };
}

function fitWeighed(source: BlockSource, spec: AffineSuperBlock): { scale: Scaled; min: Scaled } {
  const { fits } = source;
  const { weights } = loadBlock(source);
  const variance = spec.varianceFactor * meanSquareOf(source.values, source.from, ELEMENTS);
  groupOf(source, 0, weights, variance, squareOf);
  fits.affine(spec.group, spec.limit, WIDE_SEARCH);
  const groups = ELEMENTS / spec.group;
  const sums = sumsOf(weights, spec.group);
  const fit = (fitted: Float32Array): Scaled => {
    const group = { values: fitted.subarray(0, groups), from: 0, count: groups, weights: sums };
    const { scale, codes } = fitUnsigned(group, spec.scaleLimit);
    return { unit: scale, numbers: codes };
  };
  return { scale: fit(fits.scales), min: fit(fits.mins) };
}

/** The sums of the weights of groups, in f32. */
function sumsOf(weights: Float32Array, size: number): Float32Array {
  const sums = new Float32Array(ELEMENTS / size);
  for (let i = 0; i < ELEMENTS; i++) {
    const group = Math.floor(i / size);
    sums[group] = fround((sums[group] as number) + (weights[i] as number));
  }
  return sums;
}

/** Where a block of 256 elements `d * scale * q` in groups of 16 has its numbers. */
export interface SignedSuperBlock {
  readonly blockBytes: number;
  /** The byte of `d`. */
  readonly scaleAt: number;
  readonly codes: FieldPacker;
  readonly scales: FieldPacker;
  /** Codes and scales are `-limit` to `limit - 1`; codes are stored with `limit` added. */
  readonly limit: number;
  readonly scaleLimit: number;
  /** What is added to a scale in the block. */
  readonly scaleLess: number;
}

const GROUP = 16;
const GROUPS = ELEMENTS / GROUP;

/** Encodes a block by the scales of its groups: the largest becomes `-scaleLimit`. */
export function encodeSignedSuperBlock(
  source: BlockSource,
  bytes: DataView,
  at: number,
  spec: SignedSuperBlock & {
    /** Whether codes are improved one by one, in place of trying scales. */
    readonly refine: boolean;
  },
): void {
  const { fits } = source;
  const { weights, scales } = loadBlock(source);
  groupByImportance(source, 0, weights);
  if (spec.refine) fits.refined(GROUP, spec.limit);
  else fits.signed(GROUP, spec.limit);
  const extreme = extremeOf(scales, 0, GROUPS);
  const inverse = extreme === 0 ? 0 : fround(-spec.scaleLimit / extreme);
  const numbers = signedNumbers(scales, inverse, spec.scaleLimit);
  writeSigned(source, bytes, at, { ...spec, unit: inverse === 0 ? 0 : fround(1 / inverse), numbers });
}

/** Encodes a block whose groups, and then their scales, are fitted by importance. */
export function encodeWeighedSuperBlock(
  source: BlockSource,
  bytes: DataView,
  at: number,
  spec: SignedSuperBlock,
): void {
  const { fits } = source;
  const { weights, scales } = loadBlock(source);
  const variance = 2 * meanSquareOf(source.values, source.from, ELEMENTS);
  groupOf(source, 0, weights, variance, squareOf);
  fits.signed(GROUP, spec.limit);
  const group = { values: scales, from: 0, count: GROUPS, weights: sumsOf(weights, GROUP) };
  const { scale, inverse } = fitSigned(group, spec.scaleLimit);
  const numbers = signedNumbers(scales, inverse, spec.scaleLimit);
  writeSigned(source, bytes, at, { ...spec, unit: scale, numbers });
}

/** The scales of groups in units, `inverse` of them to one. */
function signedNumbers(scales: Float32Array, inverse: number, limit: number): Int8Array {
  const numbers = new Int8Array(GROUPS);
  for (let i = 0; i < GROUPS; i++) {
    numbers[i] = nearestWithin(fround(inverse * (scales[i] as number)), -limit, limit - 1);
  }
  return numbers;
}

function writeSigned(
  source: BlockSource,
  bytes: DataView,
  at: number,
  spec: SignedSuperBlock & { readonly unit: number; readonly numbers: Int8Array },
): void {
  const { limit, numbers } = spec;
  clear(bytes, at, spec.blockBytes);
  bytes.setUint16(at + spec.scaleAt, floatToHalf(spec.unit), true);
  const d = halfToFloat(bytes.getUint16(at + spec.scaleAt, true));
  spec.scales.write(
    bytes,
    at,
    numbers.map((number) => number + spec.scaleLess),
  );
  const codes = new Uint8Array(ELEMENTS).fill(limit);
  for (let i = 0; i < ELEMENTS; i++) {
    const scale = fround(d * (numbers[i >> 4] as number));
    if (scale === 0) continue;
    const value = source.values[source.from + i] as number;
    codes[i] = limit + nearestWithin(fround(value / scale), -limit, limit - 1);
  }
  spec.codes.write(bytes, at, codes);
}
