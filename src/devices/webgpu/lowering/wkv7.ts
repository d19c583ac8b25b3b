import { fail } from '../../../base/errors.ts';
import type { FusedWkv7Intent, Temporary, Wkv7Intent, FusedWkvOperands } from '../../../device/index.ts';
import type { Tensor, Wkv7Op } from '../../../ops/index.ts';
import { GRID } from '../kernels/library/grid.ts';
import { loopFor } from '../kernels/library/loop.ts';
import { reduceText } from '../kernels/library/reduce.ts';
import { type PlacedRows, rowsText, WKV7_FINISH, wkv7RowsTexts, type WkvFused } from '../kernels/wkv7.ts';
import { WKV7_CHUNK, wkv7ChunksTexts } from '../kernels/wkv7-chunks.ts';
import { type Argument, type Operand, read, write } from './launch-plan.ts';
import { lineGrid } from './line-grid.ts';
import type { Lowering } from './lowering.ts';
import { slotWorkgroups } from './slot-workgroups.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

/** Threads per workgroup on every device: a head's rows take one each, or more. */
const MAX_THREADS = 256;
const FINISH_THREADS = 256;
const TEAM = 32;

/** The recurrence by itself. */
export function emitWkv7({ op, chunked }: Wkv7Intent, to: Lowering): void {
  const { r, w, k, v, kk, a } = op;
  const rows = rowBuffers({ r, w, k, v, a, kk }, to);
  if (chunked) launchChunks(op, { rows, y: op.out }, to);
  else launchRows(op, { fused: 'none', rows, y: op.out }, to);
}

/** The fused recurrence: one launch if a kernel can bind everything; otherwise a second launch finishes it. */
export function emitFusedWkv7({ op, of, chunked }: FusedWkv7Intent, to: Lowering): void {
  const { r, w, v, a } = op;
  const all = rowBuffers({ r, w, k: of.key, v, a, gate: of.gate }, to);
  // The state, the vectors and the result, besides the rows.
  if (!chunked && Object.keys(all.args).length + 3 <= to.target.storageBindings) {
    launchRows(op, { fused: 'all', rows: all, y: of.out, of }, to);
    return;
  }
  const y = to.temporary(4 * to.capacity(op.out) * op.out.width);
  const rows = rowBuffers({ r, w, k: of.key, v, a }, to);
  if (chunked) launchChunks(op, { rows, y, of }, to);
  else launchRows(op, { fused: 'keys', rows, y, of }, to);
  launchFinish(op, { ...of, recurrence: y }, to);
}

/** Tensors of rows as read by a kernel: those in the same memory are bound once. */
interface RowBuffers {
  readonly args: Readonly<Record<string, Argument>>;
  readonly texts: readonly string[];
}

function rowBuffers(tensors: Readonly<Record<string, Tensor>>, to: Lowering): RowBuffers {
  const names = new Map<Operand, string>();
  const place = (tensor: Tensor): PlacedRows => {
    const { memory, offset } = to.rowsOf(tensor);
    const name = names.get(memory) ?? `rows_${names.size}`;
    names.set(memory, name);
    return { name, at: offset / 4 };
  };
  const texts = Object.entries(tensors).map(([name, tensor]) => rowsText(name, place(tensor)));
  return { args: Object.fromEntries([...names].map(([memory, name]) => [name, read(memory)])), texts };
}

function launchRows(
  op: Wkv7Op,
  of: { fused: WkvFused; rows: RowBuffers; y: Tensor | Temporary; of?: FusedWkvOperands },
  to: Lowering,
): void {
  const { headSize, out } = op;
  if (headSize > MAX_THREADS) {
    const why = `its heads are ${headSize} wide, more than ${MAX_THREADS}`;
    fail('OP_UNSUPPORTED', { device: 'webgpu', op: 'wkv7', why });
  }
  const split = splitOf(headSize);
  const threads = headSize * split;
  const workgroups = slotWorkgroups(op, to);
  to.launch({
    name: of.fused === 'none' ? 'wkv7' : 'fused_wkv7',
    texts: [
      ...wkv7RowsTexts({ headSize, split, fused: of.fused }, loopFor(to.target)),
      ...of.rows.texts,
      reduceText(to.target, { team: split, threads, name: 'part' }),
      ...(of.of ? [reduceText(to.target, { team: threads, threads, name: 'head' })] : []),
    ],
    constants: {
      HEAD: headSize,
      SPLIT: split,
      WIDTH: out.width,
      ...workgroups.constants,
      ...(of.of ? epsilons(of.of) : {}),
    },
    args: { ...workgroups.args, ...argsOf(op, of, to) },
    grid: [out.width / headSize, workgroups.count],
  });
}

/** Rows of consecutive positions of a sequence, chunk by chunk. */
function launchChunks(
  op: Wkv7Op,
  of: { rows: RowBuffers; y: Tensor | Temporary; of?: FusedWkvOperands },
  to: Lowering,
): void {
  const { out } = op;
  const { rows: slice, head, threads } = WKV7_CHUNK;
  const fused = of.of !== undefined;
  const workgroups = slotWorkgroups(op, to);
  to.launch({
    name: fused ? 'fused_wkv7_chunks' : 'wkv7_chunks',
    texts: [
      ...wkv7ChunksTexts({ fused }, loopFor(to.target)),
      ...of.rows.texts,
      ...(fused ? [reduceText(to.target, { team: head, threads, name: 'column' })] : []),
    ],
    constants: {
      HEAD: head,
      WIDTH: out.width,
      ...workgroups.constants,
      ...(of.of ? epsilons(of.of) : {}),
    },
    args: { ...workgroups.args, ...argsOf(op, of, to) },
    grid: [out.width / slice, workgroups.count],
  });
}

/** What both kernels bind besides the batch. */
function argsOf(
  { state }: Wkv7Op,
  of: { rows: RowBuffers; y: Tensor | Temporary; of?: FusedWkvOperands },
  to: Lowering,
) {
  return {
    ...of.rows.args,
    ...(of.of ? { vectors: vectorsOf(of.of, to) } : {}),
    state: write(state),
    y: write(of.y),
  };
}

/** Threads per row of a head's matrix, each with whole fours of its columns. */
function splitOf(headSize: number): number {
  return [4, 2].find((split) => headSize % (4 * split) === 0 && headSize * split <= MAX_THREADS) ?? 1;
}

function epsilons({ lengthEpsilon, normEpsilon }: FusedWkvOperands) {
  return { LENGTH_EPSILON: { f32: lengthEpsilon }, NORM_EPSILON: { f32: normEpsilon } };
}

/** The fused recurrence's vectors, concatenated. */
function vectorsOf(of: FusedWkvOperands, to: Lowering): Argument {
  const { kK, kA, rK, normWeight, normBias } = of;
  return to.vectors([kK, kA, rK, normWeight, normBias], FLOAT_LAYOUT);
}

function launchFinish(
  { r, v, a, headSize, out }: Wkv7Op,
  of: FusedWkvOperands & { readonly recurrence: Temporary },
  to: Lowering,
): void {
  const rows = rowBuffers({ r, k: of.key, v, a, gate: of.gate }, to);
  const teams = to.capacity(out) * (out.width / headSize);
  to.launch({
    name: 'wkv7_finish',
    texts: [GRID, WKV7_FINISH, ...rows.texts, reduceText(to.target, { team: TEAM, threads: FINISH_THREADS })],
    constants: {
      THREADS: FINISH_THREADS,
      COUNT: to.countOf(out),
      HEAD: headSize,
      WIDTH: out.width,
      NORM_EPSILON: { f32: of.normEpsilon },
    },
    args: {
      counts: to.counts,
      recurrence: read(of.recurrence),
      ...rows.args,
      vectors: vectorsOf(of, to),
      y: write(of.out),
    },
    grid: lineGrid(to, Math.ceil(teams / (FINISH_THREADS / TEAM))),
  });
}
