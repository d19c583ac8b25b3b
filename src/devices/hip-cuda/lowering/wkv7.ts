import { fail } from '../../../base/errors.ts';
import type { FusedWkv7Intent, Wkv7Intent, FusedWkvOperands } from '../../../device/index.ts';
import type { Tensor, Weight, Wkv7Op } from '../../../ops/index.ts';
import type { Operand } from './launch-plan.ts';
import { float, int } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { slotBlocks } from './slot-blocks.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';
import type { HipCudaWeight } from '../launching/kernel-set.ts';

/** A block has one or four threads for each row of a head's matrix. */
const MAX_HEAD_SIZE = 256;
/** Threads that share a row of the matrix, if its columns divide into fours for each. */
const SPLIT = 4;

/** The head size of `wkv7-chunks.hip` (every RWKV-7 has it), its threads per block, and its matrix rows per block. */
export const CHUNKED_HEAD = 64;
const CHUNK_THREADS = 256;
const SLICE = 16;

/** Head sizes of the fused recurrence: those whose threads fill warps. */
export const FUSED_HEAD = { unit: 4 * SPLIT, max: MAX_HEAD_SIZE } as const;

/** The recurrence by itself. */
export function emitWkv7({ op, chunked }: Wkv7Intent, to: Lowering): void {
  if (chunked) launchChunks(op, to, { key: op.k, out: op.out, isFused: false, more: [op.kk] });
  else launchRows(op, to, undefined);
}

/** The recurrence, fused with what surrounds it. */
export function emitFusedWkv7({ op, chunked, of }: FusedWkv7Intent, to: Lowering): void {
  if (!chunked) return launchRows(op, to, of);
  const { key, kK, kA, lengthEpsilon } = of;
  const out = to.temporary(4 * to.capacity(op.out) * op.out.width);
  const more = [vector(kK, to), vector(kA, to), float(lengthEpsilon)];
  launchChunks(op, to, { key, out, isFused: true, more });
  launchFinish(op, to, { ...of, recurrence: out });
}

/** `more` are the additional arguments of the fused recurrence. */
function launchChunks(
  op: Wkv7Op,
  to: Lowering,
  of: { key: Tensor; out: Operand; isFused: boolean; more: readonly Operand[] },
): void {
  const { r, w, v, a, state, headSize } = op;
  const { width } = op.out;
  const { key, out, isFused, more } = of;
  const blocks = slotBlocks(op, to);
  to.launch({
    file: 'wkv7-chunks.hip',
    kernel: 'wkv7_chunks',
    defines: { HEAD_SIZE: headSize, FUSED: isFused ? 1 : 0, ...blocks.defines },
    grid: [width / SLICE, blocks.count],
    block: CHUNK_THREADS,
    args: [...blocks.args, r, w, key, v, a, state, out, int(width), ...more],
  });
}

function launchFinish(
  { r, v, a, headSize, out: { width }, out: tensor }: Wkv7Op,
  to: Lowering,
  of: FusedWkvOperands & { readonly recurrence: Operand },
): void {
  const { key, kA, rK, normWeight, normBias, gate, normEpsilon, out, recurrence } = of;
  const vectors = [kA, rK, normWeight, normBias].map((weight) => vector(weight, to));
  const warps = to.capacity(tensor) * (width / headSize);
  to.launch({
    file: 'wkv7-finish.hip',
    kernel: 'wkv7_finish',
    defines: { HEAD_SIZE: headSize },
    grid: [Math.ceil((32 * warps) / CHUNK_THREADS)],
    block: CHUNK_THREADS,
    args: [to.count(tensor), recurrence, r, key, v, a, ...vectors, gate, out, int(width), float(normEpsilon)],
  });
}

function launchRows(op: Wkv7Op, to: Lowering, fused: FusedWkvOperands | undefined): void {
  const { r, w, k, v, kk, a, state, headSize, out } = op;
  const blocks = slotBlocks(op, to);
  if (headSize > MAX_HEAD_SIZE) {
    const why = `its heads are ${headSize} wide, more than ${MAX_HEAD_SIZE}`;
    fail('OP_UNSUPPORTED', { device: to.target.api, op: 'wkv7', why });
  }
  const split = headSize % FUSED_HEAD.unit === 0 ? SPLIT : 1;
  const rest = fused ? fusedArgs(fused, to) : [kk];
  to.launch({
    file: 'wkv7.hip',
    kernel: 'wkv7_rows',
    defines: { HEAD_SIZE: headSize, SPLIT: split, FUSED: fused ? 1 : 0, ...blocks.defines },
    grid: [out.width / headSize, blocks.count],
    block: headSize * split,
    args: [...blocks.args, r, w, fused?.key ?? k, v, a, state, fused?.out ?? out, int(out.width), ...rest],
  });
}

function fusedArgs(fused: FusedWkvOperands, to: Lowering): Operand[] {
  const { kK, kA, rK, normWeight, normBias, gate } = fused;
  const vectors = [kK, kA, rK, normWeight, normBias];
  const { lengthEpsilon, normEpsilon } = fused;
  return [...vectors.map((weight) => vector(weight, to)), gate, float(lengthEpsilon), float(normEpsilon)];
}

function vector(weight: Weight, to: Lowering): HipCudaWeight {
  return to.weight([weight], FLOAT_LAYOUT);
}
