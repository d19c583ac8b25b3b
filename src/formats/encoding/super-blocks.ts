import { floatToHalf, halfToFloat } from '../../base/half.ts';
import {
  type BlockSource,
  clear,
  type Group,
  groupByImportance,
  groupOf,
  meanSquareOf,
  nearest,
  nearestWithin,
  squareOf,
  sumOf,
} from './block-source.ts';
import type { FieldPacker } from './field-packer.ts';
import { type AffineSearch, fitAffine, WIDE_SEARCH } from './fit-affine.ts';
import { fitSigned, fitUnsigned, refineSigned } from './fit-signed.ts';

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
  for (let i = 0; i < ELEMENTS; i++) {
    const group = Math.floor(i / spec.group);
    const groupScale = fround(d * (scale.numbers[group] as number));
    if (groupScale === 0) continue;
    const groupMin = fround(dmin * (min.numbers[group] as number));
    const shifted = fround((source.values[source.from + i] as number) + groupMin);
    codes[i] = nearestWithin(fround(shifted / groupScale), 0, spec.limit);
  }
  spec.codes.write(bytes, at, codes);
}

/** Numbers in units of one scale. */
interface Scaled {
  readonly unit: number;
  readonly numbers: ArrayLike<number>;
}

function fitPlain(source: BlockSource, spec: AffineSuperBlock): { scale: Scaled; min: Scaled } {
  const { scales, mins } = fitGroups(spec, (offset, weights) => {
    const mean = spec.typicalShare * meanSquareOf(source.values, source.from + offset, spec.group);
    const typical = fround(Math.sqrt(mean));
    return groupOf(source, offset, weights, 0, (value) => typical + Math.abs(value));
  });
  return { scale: byLargest(scales, spec.scaleLimit), min: byLargest(mins, spec.scaleLimit) };
}

function byLargest(numbers: Float32Array, limit: number): Scaled {
  const largest = Math.max(0, ...numbers);
  const inverse = largest > 0 ? fround(limit / largest) : 0;
  return {
    unit: fround(largest / limit),
    numbers: Array.from(numbers, (number) => Math.min(limit, nearest(fround(inverse * number)) & 0xff)),
  };
}

function fitWeighed(source: BlockSource, spec: AffineSuperBlock): { scale: Scaled; min: Scaled } {
  const variance = spec.varianceFactor * meanSquareOf(source.values, source.from, ELEMENTS);
  const sums = new Float32Array(ELEMENTS / spec.group);
  const { scales, mins } = fitGroups({ ...spec, search: WIDE_SEARCH }, (offset, weights) => {
    const group = groupOf(source, offset, weights, variance, squareOf);
    sums[offset / spec.group] = sumOf(weights);
    return group;
  });
  const fit = (values: Float32Array): Scaled => {
    const { scale, codes } = fitUnsigned(
      { values, from: 0, count: values.length, weights: sums },
      spec.scaleLimit,
    );
    return { unit: scale, numbers: codes };
  };
  return { scale: fit(scales), min: fit(mins) };
}

function fitGroups(
  { group, limit, search }: Pick<AffineSuperBlock, 'group' | 'limit' | 'search'>,
  weigh: (offset: number, weights: Float32Array) => Group,
): { readonly scales: Float32Array; readonly mins: Float32Array } {
  const scales = new Float32Array(ELEMENTS / group);
  const mins = new Float32Array(ELEMENTS / group);
  const weights = new Float32Array(group);
  for (let i = 0; i < scales.length; i++) {
    const fit = fitAffine(weigh(i * group, weights), limit, search);
    scales[i] = fit.scale;
    mins[i] = fit.min;
  }
  return { scales, mins };
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
  const weights = new Float32Array(GROUP);
  const scales = new Float32Array(ELEMENTS / GROUP);
  let extreme = 0;
  for (let i = 0; i < scales.length; i++) {
    const group = groupByImportance(source, GROUP * i, weights);
    const scale = spec.refine ? refineSigned(group, spec.limit) : fitSigned(group, spec.limit).scale;
    scales[i] = scale;
    if (Math.abs(scale) > Math.abs(extreme)) extreme = scale;
  }
  const inverse = extreme === 0 ? 0 : fround(-spec.scaleLimit / extreme);
  const numbers = Array.from(scales, (scale) =>
    nearestWithin(fround(inverse * scale), -spec.scaleLimit, spec.scaleLimit - 1),
  );
  writeSigned(source, bytes, at, { ...spec, unit: inverse === 0 ? 0 : fround(1 / inverse), numbers });
}

/** Encodes a block whose groups, and then their scales, are fitted by importance. */
export function encodeWeighedSuperBlock(
  source: BlockSource,
  bytes: DataView,
  at: number,
  spec: SignedSuperBlock,
): void {
  const variance = 2 * meanSquareOf(source.values, source.from, ELEMENTS);
  const weights = new Float32Array(GROUP);
  const sums = new Float32Array(ELEMENTS / GROUP);
  const values = new Float32Array(ELEMENTS / GROUP);
  for (let i = 0; i < values.length; i++) {
    values[i] = fitSigned(groupOf(source, GROUP * i, weights, variance, squareOf), spec.limit).scale;
    sums[i] = sumOf(weights);
  }
  const { scale, inverse } = fitSigned(
    { values, from: 0, count: values.length, weights: sums },
    spec.scaleLimit,
  );
  const numbers = Array.from(values, (value) =>
    nearestWithin(fround(inverse * value), -spec.scaleLimit, spec.scaleLimit - 1),
  );
  writeSigned(source, bytes, at, { ...spec, unit: scale, numbers });
}

function writeSigned(
  source: BlockSource,
  bytes: DataView,
  at: number,
  spec: SignedSuperBlock & { readonly unit: number; readonly numbers: readonly number[] },
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
