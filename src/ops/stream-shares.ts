import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { Tensor, Weight } from './value.ts';

/**
 * How a layer reads and writes several residual streams (Xie et al. 2025, "mHC: Manifold-Constrained Hyper-Connections"). With
 * `z = scale * mixes + base`, a scale each for the three parts of a row: the shares with which the streams are read are
 * `sigmoid(z) + epsilon`; those of a sublayer's result in the streams `2 sigmoid(z)`; and the streams' shares in each other are a
 * matrix, a row for each stream that is read, that Sinkhorn's iterations make doubly stochastic: a softmax over rows, plus
 * epsilon, then columns and, `iterations - 1` times, rows and columns divided by `epsilon` plus their sums.
 */
export interface StreamSharesOp {
  readonly kind: 'streamShares';
  /** f32 [rows, streams * (streams + 2)]: reading, writing, the matrix; or [rows, streams] of the head, which only reads. */
  readonly mixes: Tensor;
  /** A scale for each part. */
  readonly scale: Weight;
  readonly base: Weight;
  readonly streams: number;
  readonly iterations: number;
  readonly epsilon: number;
  /**
   * As wide as the mixes: the streams' shares in what is read; then, for each stream that is written, all streams' shares and
   * that of the sublayer's result.
   */
  readonly out: Tensor;
}

/** Computes the shares of a layer's streams or, for mixes as wide as there are streams, of the head's. */
export function streamShares(
  g: Recorder<StreamSharesOp>,
  mixes: Tensor,
  of: Pick<StreamSharesOp, 'scale' | 'base' | 'streams' | 'iterations' | 'epsilon'>,
): Tensor {
  const { streams, scale, base, iterations } = of;
  const reads = mixes.width === streams;
  g.require(reads || mixes.width === streams * (streams + 2), `there are mixes of ${streams} streams`);
  g.require(scale.rows * scale.columns === (reads ? 1 : 3), 'each part of the mixes has a scale');
  g.require(base.rows * base.columns === mixes.width, `the base has ${mixes.width} values`);
  g.require(Number.isSafeInteger(iterations) && iterations > 0, 'there is an iteration at least');
  const out = g.temp('streamShares', { axis: mixes.axis, width: mixes.width });
  g.push({ kind: 'streamShares', mixes, ...of, out });
  return out;
}

/** The shares of one row, as defined by `StreamSharesOp`, in f64. */
export function sharesOfRow(
  mixes: ArrayLike<number>,
  { scale, base }: { readonly scale: ArrayLike<number>; readonly base: ArrayLike<number> },
  { streams, iterations, epsilon }: Pick<StreamSharesOp, 'streams' | 'iterations' | 'epsilon'>,
): Float64Array {
  const at = (i: number, part: number) =>
    (mixes[i] as number) * (scale[part] as number) + (base[i] as number);
  const sigmoid = (z: number) => 1 / (1 + Math.exp(-z));
  const shares = new Float64Array(mixes.length);
  for (let i = 0; i < streams; i++) shares[i] = sigmoid(at(i, 0)) + epsilon;
  if (mixes.length === streams) return shares;
  const matrix = new Float64Array(streams * streams);
  for (let i = 0; i < matrix.length; i++) matrix[i] = at(2 * streams + i, 2);
  balance(matrix, { streams, iterations, epsilon });
  for (let to = 0; to < streams; to++) {
    const first = streams + to * (streams + 1);
    for (let from = 0; from < streams; from++) shares[first + from] = matrix[from * streams + to] as number;
    shares[first + streams] = 2 * sigmoid(at(streams + to, 1));
  }
  return shares;
}

/** Sinkhorn's iterations. */
function balance(
  matrix: Float64Array,
  { streams, iterations, epsilon }: Pick<StreamSharesOp, 'streams' | 'iterations' | 'epsilon'>,
): void {
  const divide = (first: number, step: number) => {
    const line = Array.from({ length: streams }, (_, i) => first + i * step);
    const sum = line.reduce((total, i) => total + (matrix[i] as number), epsilon);
    for (const i of line) matrix[i] = (matrix[i] as number) / sum;
  };
  for (let row = 0; row < streams; row++) {
    const line = matrix.subarray(row * streams, (row + 1) * streams);
    const largest = Math.max(...line);
    const sum = line.reduce((total, value) => total + Math.exp(value - largest), 0);
    line.forEach((value, i) => (line[i] = Math.exp(value - largest) / sum + epsilon));
  }
  for (let iteration = 0; iteration < iterations; iteration++) {
    for (let row = 0; iteration > 0 && row < streams; row++) divide(row * streams, 1);
    for (let column = 0; column < streams; column++) divide(column, streams);
  }
}

/** Reads and writes each row once. */
export function streamSharesCost({ mixes, iterations }: StreamSharesOp, rows: number): Cost {
  return rowwiseCost(rows, 2 * mixes.width, (8 + 4 * iterations) * mixes.width);
}
