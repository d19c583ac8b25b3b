import { fail } from '../../../base/errors.ts';
import type { CausalConvOp, SelectiveScanOp } from '../../../ops/index.ts';
import { activationCode } from './elementwise.ts';
import { int, NULL } from './launch-template.ts';
import type { Operand } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { chunkFor, type RecurrenceChunk, shortRowsOf } from './recurrence-chunks.ts';
import { slotBlocks } from './slot-blocks.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

/** Columns and threads per block of `causal-conv.hip`; each warp keeps one of the preceding rows. */
const COLUMNS = 32;
const CONV_THREADS = 256;
/** Rows per slot up to which they are convolved one after another. */
const FEW_ROWS_PER_SLOT = 2;
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

export function lowerCausalConv(op: CausalConvOp, to: Lowering): void {
  const { x, weight, bias, fn, last, out } = op;
  const taps = weight.columns;
  if (taps > MAX_TAPS) {
    const why = `its kernel has ${taps} taps, more than ${MAX_TAPS}`;
    fail('OP_UNSUPPORTED', { device: to.target.api, op: 'causalConv', why });
  }
  const blocks = slotBlocks(op, to);
  const rows = to.capacity(out);
  const isChunked = rows > FEW_ROWS_PER_SLOT * to.graph.shape.slots;
  to.launch({
    ...(isChunked
      ? { file: 'causal-conv.hip', kernel: 'causal_conv' }
      : { file: 'causal-conv-rows.hip', kernel: 'causal_conv_rows' }),
    defines: {
      TAPS: taps,
      ...blocks.defines,
      ...(isChunked && { CHUNK: rows > 32 ? 128 : 32 }),
      ...(fn && { ACTIVATION: activationCode(fn) }),
    },
    grid: [Math.ceil(out.width / (isChunked ? COLUMNS : CONV_THREADS)), blocks.count],
    block: CONV_THREADS,
    args: [
      ...blocks.args,
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

/** Chunks of the sequences that have many rows in the step, if each head has one rate, and the others' row after row. */
export function lowerSelectiveScan(op: SelectiveScanOp, to: Lowering): void {
  const { a, headSize, stateSize, out } = op;
  const bytes = (of: RecurrenceChunk) => scanChunkBytes(of, stateSize);
  const chunk =
    a?.columns === 1 ? chunkFor({ out, lineSize: stateSize, lines: headSize, bytes }, to) : undefined;
  const shortRows = shortRowsOf(chunk, to);
  if (!chunk || shortRows > 0) launchScan(op, shortRows, to);
  if (chunk) launchScanChunks(op, { chunk, shortRows }, to);
}

/** Bytes of `Shared` of `selective-scan-chunks.hip`. */
function scanChunkBytes({ rows, slice }: RecurrenceChunk, stateSize: number): number {
  const lines = (2 * rows + slice) * (stateSize + 4);
  return 4 * (lines + rows * (rows + 4) + rows * (slice + 8) + 5 * rows);
}

function launchScanChunks(
  op: SelectiveScanOp,
  { chunk, shortRows }: { readonly chunk: RecurrenceChunk; readonly shortRows: number },
  to: Lowering,
): void {
  const { heads, headSize, stateSize, groups, out } = op;
  const { rows, slice } = chunk;
  const blocks = slotBlocks(op, to);
  to.launch({
    file: 'selective-scan-chunks.hip',
    kernel: 'selective_scan_chunks',
    defines: {
      ...{ STATE_SIZE: stateSize, HEAD_SIZE: headSize, CHUNK: rows, SLICE: slice },
      SHORT_ROWS: shortRows,
      ...blocks.defines,
    },
    grid: [heads * (headSize / slice), blocks.count],
    block: 4 * rows,
    sharedBytes: scanChunkBytes(chunk, stateSize),
    args: [...blocks.args, ...scanOperands(op, to), op.state, out, int(heads), int(groups)],
  });
}

/** Row after row. */
function launchScan(op: SelectiveScanOp, shortRows: number, to: Lowering): void {
  const { a, state, heads, headSize, stateSize, groups, out } = op;
  const { split, lines, chunk } = linesOf('selectiveScan', stateSize, to);
  const blocks = slotBlocks(op, to);
  to.launch({
    file: 'selective-scan.hip',
    kernel: 'selective_scan',
    defines: {
      ...{ STATE_SIZE: stateSize, RATES: a?.columns ?? 0, SPLIT: split, CHUNK: chunk },
      SHORT_ROWS: shortRows,
      ...blocks.defines,
    },
    grid: [groups * Math.ceil((heads * headSize) / groups / lines), blocks.count],
    block: THREADS,
    args: [...blocks.args, ...scanOperands(op, to), state, out, int(heads), int(headSize), int(groups)],
  });
}

function scanOperands(op: SelectiveScanOp, to: Lowering): readonly Operand[] {
  const { x, b, c, a, d } = op;
  return [
    ...[x, op.dt ?? op.decay, b, c],
    a ? to.weight([a], FLOAT_LAYOUT) : NULL,
    d ? to.weight([d], FLOAT_LAYOUT) : NULL,
  ];
}
