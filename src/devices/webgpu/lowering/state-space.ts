import { fail } from '../../../base/errors.ts';
import type { CausalConvOp, GatedDeltaOp, SelectiveScanOp } from '../../../ops/index.ts';
import { activationText, FUNCTIONS } from '../kernels/library/functions.ts';
import { loopFor } from '../kernels/library/loop.ts';
import { reduceText } from '../kernels/library/reduce.ts';
import { SCAN_CHUNK, scanChunkBytes, selectiveScanChunksTexts } from '../kernels/selective-scan-chunks.ts';
import { causalConvText, gatedDeltaText, type LineShape, selectiveScanText } from '../kernels/state-space.ts';
import { type Argument, read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { slotWorkgroups } from './slot-workgroups.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

/** Threads per workgroup, and maximum values of a line of the state per thread. */
const THREADS = 128;
const MAX_COLUMNS = 64;
/** Threads that share a line, if its values divide into fours for each. */
const SPLITS = [8, 4, 2];
/** Maximum rows that a thread keeps for the taps of a convolution. */
const MAX_TAPS = 16;

export function lowerCausalConv(op: CausalConvOp, to: Lowering): void {
  const { x, weight, bias, fn, last, out } = op;
  const taps = weight.columns;
  if (taps > MAX_TAPS) {
    const why = `its kernel has ${taps} taps, more than ${MAX_TAPS}`;
    fail('OP_UNSUPPORTED', { device: 'webgpu', op: 'causalConv', why });
  }
  const workgroups = slotWorkgroups(op, to);
  to.launch({
    name: 'causal_conv',
    texts: [
      causalConvText({ taps, bias: bias !== undefined }, loopFor(to.target)),
      ...(fn ? [FUNCTIONS, activationText(fn)] : ['fn activation(x: f32) -> f32 { return x; }']),
    ],
    constants: { THREADS, WIDTH: out.width, ...workgroups.constants },
    args: {
      ...workgroups.args,
      x: read(x),
      taps: to.vector(weight, FLOAT_LAYOUT),
      ...(bias && { bias: to.vector(bias, FLOAT_LAYOUT) }),
      last: write(last),
      y: write(out),
    },
    grid: [Math.ceil(out.width / THREADS), workgroups.count],
  });
}

/** How the lines of a state are distributed. */
function linesOf(op: 'gatedDelta' | 'selectiveScan', length: number): LineShape {
  const split = SPLITS.find((threads) => length % (4 * threads) === 0) ?? 1;
  const columns = length / split;
  if (columns > MAX_COLUMNS) {
    const why = `lines of its state are ${length} values long`;
    fail('OP_UNSUPPORTED', { device: 'webgpu', op, why });
  }
  return { split, columns };
}

export function lowerGatedDelta(op: GatedDeltaOp, to: Lowering): void {
  const { q, k, v, decay, beta, state, heads, keyHeads, keySize, valueSize, keyOrder, out } = op;
  const shape = linesOf('gatedDelta', keySize);
  const decays = decay.width === heads ? 'head' : 'channel';
  const workgroups = slotWorkgroups(op, to);
  to.launch({
    name: 'gated_delta',
    texts: [
      FUNCTIONS,
      gatedDeltaText({ ...shape, decays, keyOrder }, loopFor(to.target)),
      reduceText(to.target, { team: shape.split, threads: THREADS, name: 'part' }),
      reduceText(to.target, { team: THREADS, threads: THREADS, name: 'all' }),
    ],
    constants: {
      THREADS,
      ...workgroups.constants,
      SPLIT: shape.split,
      HEADS: heads,
      KEY_HEADS: keyHeads,
      KEY_SIZE: keySize,
      VALUE_SIZE: valueSize,
      LENGTH_EPSILON: { f32: op.lengthEpsilon },
      SCALE: { f32: op.scale },
    },
    args: {
      ...workgroups.args,
      ...{ q: read(q), k: read(k), v: read(v), decay: read(decay), beta: read(beta) },
      state: write(state),
      y: write(out),
    },
    grid: [heads * Math.ceil((valueSize * shape.split) / THREADS), workgroups.count],
  });
}

/** Lines of a state that a workgroup takes in chunks of rows, most first. */
const CHUNK_LINES = [32, 16];
/** With fewer rows in a step or per sequence, chunks would be mostly empty. */
const MIN_CHUNKED_ROWS = 32;
const MIN_CHUNKED_ROWS_PER_SLOT = 4;

export function lowerSelectiveScan(op: SelectiveScanOp, to: Lowering): void {
  const lines = chunkLines(op, to);
  if (lines === undefined) launchScan(op, to);
  else launchScanChunks(op, lines, to);
}

/** Lines of a workgroup, if the step has rows for chunks, heads have one rate, and a chunk fits into workgroup memory. */
function chunkLines({ a, headSize, stateSize, out }: SelectiveScanOp, to: Lowering): number | undefined {
  const rows = to.capacity(out);
  const { threads, workgroupBytes } = to.target;
  if (rows < MIN_CHUNKED_ROWS || rows < MIN_CHUNKED_ROWS_PER_SLOT * to.graph.shape.slots) return undefined;
  if (a?.columns !== 1 || stateSize % (4 * SCAN_CHUNK.split) !== 0) return undefined;
  return CHUNK_LINES.find((lines) => {
    const fits =
      scanChunkBytes({ stateSize, lines }) <= workgroupBytes && SCAN_CHUNK.split * lines <= threads;
    return (
      fits && headSize % lines === 0 && (SCAN_CHUNK.rows * stateSize) % (4 * SCAN_CHUNK.split * lines) === 0
    );
  });
}

function launchScanChunks(op: SelectiveScanOp, lines: number, to: Lowering): void {
  const { out, stateSize } = op;
  const threads = SCAN_CHUNK.split * lines;
  const workgroups = slotWorkgroups(op, to);
  to.launch({
    name: 'selective_scan_chunks',
    texts: [
      FUNCTIONS,
      ...selectiveScanChunksTexts({ stateSize, lines }, loopFor(to.target)),
      reduceText(to.target, { team: SCAN_CHUNK.split, threads, name: 'part' }),
    ],
    constants: { THREADS: threads, ...workgroups.constants, ...scanConstants(op) },
    args: { ...workgroups.args, ...scanArgs(op, to) },
    grid: [out.width / lines, workgroups.count],
  });
}

function launchScan(op: SelectiveScanOp, to: Lowering): void {
  const { a, out } = op;
  const shape = linesOf('selectiveScan', op.stateSize);
  const rates = a ? (a.columns === 1 ? 'head' : 'state') : 'row';
  const workgroups = slotWorkgroups(op, to);
  to.launch({
    name: 'selective_scan',
    texts: [
      FUNCTIONS,
      selectiveScanText({ ...shape, rates }, loopFor(to.target)),
      reduceText(to.target, { team: shape.split, threads: THREADS, name: 'part' }),
    ],
    constants: { THREADS, ...workgroups.constants, SPLIT: shape.split, ...scanConstants(op) },
    args: { ...workgroups.args, ...scanArgs(op, to) },
    grid: [Math.ceil((out.width * shape.split) / THREADS), workgroups.count],
  });
}

function scanConstants({ heads, headSize, stateSize, groups, out }: SelectiveScanOp) {
  return { WIDTH: out.width, HEADS: heads, HEAD_SIZE: headSize, STATE_SIZE: stateSize, GROUPS: groups };
}

/** What both kernels bind besides the batch. */
function scanArgs(op: SelectiveScanOp, to: Lowering): Readonly<Record<string, Argument>> {
  const { x, b, c, a, d, state, out } = op;
  return {
    ...{ x: read(x), b: read(b), c: read(c) },
    ...(op.decay ? { factors: read(op.decay) } : { dt: read(op.dt) }),
    ...(a && { rates: to.vector(a, FLOAT_LAYOUT) }),
    ...(d && { skips: to.vector(d, FLOAT_LAYOUT) }),
    state: write(state),
    y: write(out),
  };
}
