import { alignUp } from '../../../base/bytes.ts';
import type { ConvertIntent, RoundIntent, SplitHalvesIntent } from '../../../device/index.ts';
import { activationCode } from './elementwise.ts';
import { halfDefines } from './epilogue.ts';
import { float, int, NULL } from './launch-template.ts';
import type { HipCudaTarget } from '../launching/kernel-set.ts';
import type { Lowering } from './lowering.ts';
import { F16_CHUNK } from './staging.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

/** Converts activations to the form that products read. */
export function emitConvert(of: ConvertIntent, to: Lowering): void {
  if (of.form !== 'q8') toF16(of, to);
  else if (of.norm) normQuantize(of, of.norm, to);
  else quantize(of, to);
}

/** Elements of a thread's vectors, and the numbers of threads among which a row is divided. */
const VECTOR = 4;
const MIN_THREADS = 32;
const MAX_THREADS = 1024;

/** Vectors of a thread where there are rows enough to fill the multiprocessors, as many as it holds: see `KEPT` in `row-vectors.h`. */
const MANY_VECTORS = 4;

/** How rows of so many elements, of which there are `rows`, are divided among a block's threads: see `row-vectors.h`. */
function rowThreads(
  elements: number,
  rows: number,
  { multiprocessors }: HipCudaTarget,
): { readonly THREADS: number; readonly OWN: number } {
  const each = rows >= 4 * multiprocessors ? MANY_VECTORS : 1;
  const wanted = 2 ** Math.ceil(Math.log2(elements / VECTOR / each));
  const threads = Math.min(Math.max(wanted, MIN_THREADS), MAX_THREADS);
  return { THREADS: threads, OWN: Math.ceil(elements / VECTOR / threads) };
}

/** Converts a tensor to the form that kernels for the matrix cores read. */
function toF16({ x, norm, parts, y, form }: ConvertIntent, to: Lowering): void {
  const division = rowThreads(alignUp(x.width / parts, F16_CHUNK), to.capacity(x), to.target);
  // A block adds up what a product has left of its row, if it holds all of it.
  const sums = parts === 1 && division.OWN <= MANY_VECTORS ? to.take(x, 'residual') : undefined;
  to.launch({
    file: 'convert-f16.hip',
    kernel: 'convert_f16',
    defines: { NORMED: norm ? 1 : 0, PIECES: sums?.count ?? 0, ...division, ...halfDefines(form) },
    grid: [parts * to.capacity(x)],
    block: division.THREADS,
    args: [
      to.count(x),
      x,
      norm ? to.weight([norm.weight], FLOAT_LAYOUT) : NULL,
      y,
      int(x.width / parts),
      int(parts),
      float(norm?.epsilon ?? 0),
      sums?.pieces ?? NULL,
      int(sums?.apart ?? 0),
      sums?.addend ?? NULL,
    ],
  });
}

function quantize({ x, y }: ConvertIntent, to: Lowering): void {
  const rows = to.capacity(x);
  to.launch({
    file: 'quantize.hip',
    kernel: 'quantize_rows',
    grid: [Math.ceil((rows * x.width) / 8 / 128)],
    block: 128,
    args: [to.count(x), x, y, int(rows), int(x.width / 32)],
  });
}

function normQuantize(
  { x, y }: ConvertIntent,
  { weight, epsilon }: NonNullable<ConvertIntent['norm']>,
  to: Lowering,
): void {
  const rows = to.capacity(x);
  to.launch({
    file: 'norm-quantize.hip',
    kernel: 'norm_quantize',
    grid: [rows],
    block: 256,
    args: [
      to.count(x),
      x,
      to.weight([weight], FLOAT_LAYOUT),
      y,
      int(rows),
      int(x.width / 32),
      float(epsilon),
    ],
  });
}

/** What `round.hip` computes of what it rounds. */
const FUNCTION_CODES = { none: 0, unary: 1, gated: 2 } as const;

/** Rounds a tensor, the norm or a function of one, or a gated product to f16 or bf16: see `round.hip`. */
export function emitRound({ of, y }: RoundIntent, to: Lowering): void {
  const norm = of.kind === 'rmsNorm' ? of : undefined;
  const gated = of.kind === 'gated' ? of : undefined;
  const unary = of.kind === 'unary' ? of : undefined;
  const x = of.kind === 'tensor' ? of : of.kind === 'gated' ? of.gate : of.x;
  const division = rowThreads(x.width, to.capacity(x), to.target);
  to.launch({
    file: 'round.hip',
    kernel: 'round_rows',
    defines: {
      BFLOATS: y.type === 'bf16' ? 1 : 0,
      ROUNDED: 1,
      NORMED: norm ? 1 : 0,
      FUNCTION: FUNCTION_CODES[gated ? 'gated' : unary ? 'unary' : 'none'],
      ACTIVATION: activationCode((gated ?? unary)?.fn ?? 'silu'),
      ...division,
    },
    grid: [to.capacity(x)],
    block: division.THREADS,
    args: [
      to.count(x),
      x,
      gated?.up ?? NULL,
      norm ? to.weight([norm.weight], FLOAT_LAYOUT) : NULL,
      y.memory,
      int(x.width),
      float(norm?.epsilon ?? 0),
    ],
  });
}

/** Splits a tensor into two matrices of f16 or bf16 with row scales: see `split-halves.hip`. */
export function emitSplitHalves({ x, norm, y }: SplitHalvesIntent, to: Lowering): void {
  const division = rowThreads(x.width, to.capacity(x), to.target);
  to.launch({
    file: 'split-halves.hip',
    kernel: 'split_halves',
    defines: { BFLOATS: y.type === 'bf16' ? 1 : 0, NORMED: norm ? 1 : 0, ...division },
    grid: [to.capacity(x)],
    block: division.THREADS,
    args: [
      to.count(x),
      x,
      norm ? to.weight([norm.weight], FLOAT_LAYOUT) : NULL,
      y.high,
      y.low,
      y.scales,
      int(x.width),
      float(norm?.epsilon ?? 0),
    ],
  });
}
