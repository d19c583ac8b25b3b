import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { Tensor } from './value.ts';

/** Most values that are rotated together. */
const MAX_HADAMARD_SIZE = 128;

/**
 * `out[i] = sum_j (-1) ^ popcount(i & j) * x[j] / sqrt(size)` in each group of `size` values of a row: the orthonormal
 * Walsh-Hadamard transform, which is its own inverse. It spreads outliers over the group, so that blocks with one scale
 * lose less (Ashkboos et al. 2024, "QuaRot"); products of two rotated vectors stay the same.
 */
export interface HadamardOp {
  readonly kind: 'hadamard';
  readonly x: Tensor;
  /** A power of two, at most 128. */
  readonly size: number;
  readonly out: Tensor;
}

/** The largest size of groups that divides all of these sizes, at most `most`. */
export function hadamardSize(sizes: readonly number[], most = MAX_HADAMARD_SIZE): number {
  let size = most;
  while (sizes.some((of) => of % size !== 0)) size /= 2;
  return size;
}

/** Rotates groups of `size` values: [x.axis, x.width]. */
export function hadamard(g: Recorder<HadamardOp>, x: Tensor, size: number): Tensor {
  const isPower = Number.isInteger(Math.log2(size)) && size <= MAX_HADAMARD_SIZE;
  g.require(isPower, `groups of ${size} are a power of two, at most ${MAX_HADAMARD_SIZE}`);
  g.require(x.width % size === 0, `groups of ${size} divide the row of ${x.width} evenly`);
  const out = g.temp('hadamard', { axis: x.axis, width: x.width });
  g.push({ kind: 'hadamard', x, size, out });
  return out;
}

/** Reads and writes each row once; an addition per value and level of the butterfly. */
export function hadamardCost({ x, size }: HadamardOp, rows: number): Cost {
  return rowwiseCost(rows, 2 * x.width, (Math.log2(size) + 1) * x.width);
}
