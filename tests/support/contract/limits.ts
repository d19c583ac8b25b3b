import type { TensorFormat } from '../../../src/formats/index.ts';
import { decodesApart, isBlockType, type Op } from '../../../src/ops/index.ts';

/** Values are only moved: they must match bit for bit. */
const MOVED = 0;
/** One or a few f32 roundings per value. */
const ROUNDED = 1e-13;
/** Functions accurate to several units in the last place. */
const FUNCTION = 1e-11;
/** Sums of hundreds of f32 products in any order. */
const SUMMED = 1e-10;
/**
 * Values in halves with weights rounded to halves, as matrix cores require: the error of a weight just above a power of two lies anywhere
 * within 2^-11 of it, with a mean square of 2^-22 / 3; those of others are smaller, but a few large ones decide.
 */
const WEIGHED_IN_HALVES = 8e-8;
/**
 * The same over quantized blocks, whose keys and values are also rounded to halves, in whichever direction a device's
 * packing rounds.
 */
const DECODED_TO_HALVES = 2.5e-7;
/** Activations quantized to 8 bits in groups of 32: steps of max/127, for an error near 3e-5. */
const QUANTIZED_ACTIVATIONS = 1e-4;

/**
 * Activations rounded once to a weight's type: a number with so many bits behind its first has a squared error of 4^-bits / 28 of its
 * square on average, and this is almost twice that.
 */
const ROUNDED_TO: Readonly<Record<string, number>> = { F16: 6e-8, BF16: 4e-6 };

const UNQUANTIZED = new Set(['F64', 'F32', 'F16', 'BF16']);

/** True when a device may quantize the activations multiplied with this weight. */
export function allowsQuantizedActivations(format: TensorFormat): boolean {
  return !UNQUANTIZED.has(format.name);
}

/** What rounding activations of so many rows adds to the limit of a product, for a device that rounds them from `from` rows on. */
export function roundingOf(op: Op, rows: number, from = Number.POSITIVE_INFINITY): number {
  return op.kind === 'matmul' && rows >= from ? (ROUNDED_TO[op.weight.format.name] ?? 0) : 0;
}

/**
 * The limit on an operator's normalized squared error against the reference. `exactF32` applies the tighter limit for
 * devices that never quantize activations.
 */
export function limitOf(op: Op, exactF32: boolean): number {
  switch (op.kind) {
    case 'embed':
      return ROUNDED;
    case 'tokenAppend':
    case 'gatherRows':
    case 'slice':
    case 'concat':
    case 'tokenShift':
    case 'choosePositions':
    case 'cellPlaces':
    case 'joinCells':
    case 'allGather':
      return MOVED;
    case 'kvAppend':
      return [op.cache.keys, op.cache.values].some((state) => state?.type === 'f16') ? 1e-7 : MOVED;
    case 'add':
    case 'mul':
    case 'scale':
    case 'clamp':
    case 'lerp':
    case 'allReduce':
      return ROUNDED;
    case 'unary':
    case 'gated':
    case 'ropeTable':
    case 'rope':
    case 'rmsNorm':
    case 'layerNorm':
    case 'groupNorm':
    case 'l2Norm':
    case 'gaussianTopK':
    case 'streamShares':
    case 'hadamard':
    case 'sample':
      return FUNCTION;
    case 'routeExperts':
      return FUNCTION;
    case 'scaleExperts':
    case 'combineExperts':
    case 'wkv7':
    case 'wkvBonus':
    case 'causalConv':
    case 'gatedDelta':
    case 'selectiveScan':
    case 'indexScores':
    case 'compressCells':
      return SUMMED;
    case 'attention':
      if (isBlockType(op.cache.keys.type) || decodesApart(op.cache)) return DECODED_TO_HALVES;
      return op.cache.keys.type === 'f16' ? WEIGHED_IN_HALVES : SUMMED;
    case 'matmul':
    case 'matmulHeads':
    case 'matmulExperts':
      return !exactF32 && allowsQuantizedActivations(op.weight.format) ? QUANTIZED_ACTIVATIONS : SUMMED;
  }
}
