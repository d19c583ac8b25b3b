import { fail } from '../../../base/errors.ts';
import type { CausalConvOp, SelectiveScanOp } from '../../../ops/index.ts';
import { activationCode } from './elementwise.ts';
import { int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

/** Columns and threads per block of `causal-conv.hip`; each warp keeps one of the preceding rows. */
const COLUMNS = 32;
const CONV_THREADS = 256;
const MAX_TAPS = CONV_THREADS / COLUMNS + 1;

/**
 * `gated-delta.hip` and `selective-scan.hip`: threads per block, and maximum values of a line of the state per thread.
 */
export const THREADS = 128;
const MAX_COLUMNS = 64;
/** Number of values in shared memory for a chunk's rows, for each vector as long as a line. */
const STAGED_VALUES = 2048;
const MAX_ROWS = 16;
/** Threads that share a line, if its values divide into fours for each. */
const SPLITS = [8, 4, 2];

export function lowerCausalConv({ x, weight, bias, fn, last, batch, out }: CausalConvOp, to: Lowering): void {
  const taps = weight.columns;
  if (taps > MAX_TAPS) {
    const why = `its kernel has ${taps} taps, more than ${MAX_TAPS}`;
    fail('OP_UNSUPPORTED', { device: to.target.api, op: 'causalConv', why });
  }
  to.launch({
    file: 'causal-conv.hip',
    kernel: 'causal_conv',
    defines: {
      TAPS: taps,
      CHUNK: to.capacity(out) > 32 ? 128 : 32,
      ...(fn && { ACTIVATION: activationCode(fn) }),
    },
    grid: [Math.ceil(out.width / COLUMNS), to.graph.shape.slots],
    block: CONV_THREADS,
    args: [
      to.count(out),
      batch.slots,
      batch.positions,
      x,
      to.weight([weight], FLOAT_LAYOUT),
      bias ? to.weight([bias], FLOAT_LAYOUT) : NULL,
      last,
      out,
      int(out.width),
    ],
  });
}

/** How the lines of a state are distributed: threads of a line, lines of a block, and rows that it loads together. */
export function linesOf(op: 'gatedDelta' | 'selectiveScan', length: number, to: Lowering) {
  const split = SPLITS.find((threads) => length % (4 * threads) === 0) ?? 1;
  if (length / split > MAX_COLUMNS) {
    const why = `lines of its state are ${length} values long`;
    fail('OP_UNSUPPORTED', { device: to.target.api, op, why });
  }
  const rows = Math.max(1, Math.min(MAX_ROWS, Math.floor(STAGED_VALUES / length)));
  return { split, lines: THREADS / split, chunk: 2 ** Math.floor(Math.log2(rows)) };
}

export function lowerSelectiveScan(op: SelectiveScanOp, to: Lowering): void {
  const { x, b, c, a, d, state, batch, heads, headSize, stateSize, groups, out } = op;
  const { split, lines, chunk } = linesOf('selectiveScan', stateSize, to);
  to.launch({
    file: 'selective-scan.hip',
    kernel: 'selective_scan',
    defines: { STATE_SIZE: stateSize, RATES: a?.columns ?? 0, SPLIT: split, CHUNK: chunk },
    grid: [groups * Math.ceil((heads * headSize) / groups / lines), to.graph.shape.slots],
    block: THREADS,
    args: [
      ...[to.count(out), batch.slots, batch.positions, x, op.dt ?? op.decay, b, c],
      a ? to.weight([a], FLOAT_LAYOUT) : NULL,
      d ? to.weight([d], FLOAT_LAYOUT) : NULL,
      state,
      out,
      int(heads),
      int(headSize),
      int(groups),
    ],
  });
}
