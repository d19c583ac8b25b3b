import type { GatedDeltaOp, LayerNormOp, Op, Tensor, TokenShiftOp, Weight, Wkv7Op } from '../../ops/index.ts';
import type { Fusion } from './fusion.ts';
import type { GraphUses } from './graph-uses.ts';
import { roundedFor } from './half-products.ts';
import type { FusedGatedDeltaOperands, FusedWkvOperands, RoundedRows, RowPart, ShiftLerp } from './intent.ts';
import type { GpuPlanner } from './planner.ts';

/** With more rows, norms are computed once instead of by every workgroup. */
const ROWS_NORMED_INSIDE = 4;
/** Buffers of interpolations besides their weights: rows, the norm's weight and bias, the last rows, results. */
const OTHER_LERP_BUFFERS = 5;
/** With fewer rows in total or per sequence, chunks of the recurrence would be mostly empty. */
const MIN_CHUNKED_ROWS = 16;
const MIN_CHUNKED_ROWS_PER_SLOT = 4;

/**
 * Fuses all interpolations of rows with the previous ones (token shift), including the preceding norm if there are few
 * rows.
 */
export function fuseShiftLerps(op: Op, to: GpuPlanner): Fusion | undefined {
  if (op.kind !== 'tokenShift' || !to.has('shiftLerps')) return undefined;
  const { uses } = to;
  const lerps = uses.readers(op.out).filter((reader): reader is ShiftLerp => isShiftLerp(reader, op));
  if (lerps.length === 0 || lerps.length !== uses.readers(op.out).length) return undefined;
  const last = Math.max(...lerps.map((lerp) => uses.place(lerp)));
  const early = lerps.some(({ out }) => uses.readers(out).some((reader) => uses.place(reader) < last));
  // Results that are outputs of the graph cannot be placed side by side.
  const inner = lerps.every(({ out }) => uses.readers(out).length > 0);
  const buffers = new Set(lerps.map(({ t }) => t)).size + OTHER_LERP_BUFFERS;
  if (early || !inner || buffers > to.facts.buffers) return undefined;
  const norm = normOf(op, lerps.length + 1, to);
  return {
    ops: [op, ...lerps, ...(norm ? [norm] : [])],
    plan: () => to.add({ kind: 'shiftLerps', shift: op, lerps, rounded: roundedLerps(lerps, to), norm }),
  };
}

/** Where lerps go that only products of rounded rows read: those of one type. */
function roundedLerps(lerps: readonly ShiftLerp[], to: GpuPlanner): readonly (RoundedRows | undefined)[] {
  const types = lerps.map(({ out }) => roundedFor(out, to));
  const one = types.find((type) => type !== undefined);
  return lerps.map(({ out }, m) =>
    one && types[m] === one ? to.activations.provideRounded(out, one) : undefined,
  );
}

function isShiftLerp(reader: Op, { x, out }: TokenShiftOp): boolean {
  return reader.kind === 'lerp' && reader.a === x && reader.b === out && reader.t.kind === 'weight';
}

/** The norm, if its result has only these readers. */
function normOf({ x }: TokenShiftOp, readers: number, to: GpuPlanner): LayerNormOp | undefined {
  const norm = to.uses.producer(x);
  const alone = norm?.kind === 'layerNorm' && to.uses.readers(x).length === readers;
  return alone && norm.bias && to.capacity(x) <= ROWS_NORMED_INSIDE ? norm : undefined;
}

/** RWKV-7's recurrence by itself. */
export function planWkv7(op: Wkv7Op, to: GpuPlanner): void {
  to.add({ kind: 'wkv7', op, chunked: isChunked(op, to) });
}

/** True if a step has many rows per sequence, and the target has kernels that process them in chunks. */
function isChunked({ headSize, out }: Wkv7Op, to: GpuPlanner): boolean {
  const rows = to.capacity(out);
  const many = rows >= MIN_CHUNKED_ROWS && rows >= MIN_CHUNKED_ROWS_PER_SLOT * to.graph.shape.slots;
  return many && headSize === to.facts.wkv7.chunkedHead;
}

/** Fuses RWKV-7's recurrence with the computation of its keys and its epilogue. */
export function fuseWkv7(op: Op, to: GpuPlanner): Fusion | undefined {
  if (op.kind !== 'wkv7' || !to.has('fusedWkv7')) return undefined;
  const { fusedHead } = to.facts.wkv7;
  if (!fusedHead || op.headSize % fusedHead.unit !== 0 || op.headSize > fusedHead.max) return undefined;
  const before = matchKeys(op, to.uses);
  const after = matchResult(op, to.uses);
  if (!before || !after) return undefined;
  const of = { ...before.of, ...after.of };
  return {
    ops: [op, ...before.ops, ...after.ops],
    plan: () => to.add({ kind: 'fusedWkv7', op, chunked: isChunked(op, to), of }),
  };
}

interface Found<K extends keyof FusedWkvOperands> {
  readonly ops: readonly Op[];
  readonly of: Pick<FusedWkvOperands, K>;
}
function matchKeys(
  { k, kk, a, headSize }: Wkv7Op,
  uses: GraphUses,
): Found<'key' | 'kK' | 'kA' | 'lengthEpsilon'> | undefined {
  const length = uses.producer(kk);
  if (length?.kind !== 'l2Norm' || length.by !== 'length' || length.size !== headSize) return undefined;
  const scaled = uses.producer(length.x);
  const replaced = uses.producer(k);
  if (scaled?.kind !== 'mul' || !isVector(scaled.b) || replaced?.kind !== 'lerp' || !isVector(replaced.t)) {
    return undefined;
  }
  if (scaled.b.columns !== scaled.a.width) return undefined;
  const key = scaled.a;
  const target = uses.producer(replaced.b);
  if (replaced.a !== key || replaced.row !== 0 || target?.kind !== 'mul') return undefined;
  const towards = (target.a === key && target.b === a) || (target.a === a && target.b === key);
  const alone = [length.x, kk, replaced.b].every((tensor) => uses.readers(tensor).length === 1);
  // The bonus also reads the key.
  if (!towards || !alone || uses.readers(k).length !== 2) return undefined;
  const of = { key, kK: scaled.b, kA: replaced.t, lengthEpsilon: length.epsilon };
  return { ops: [length, scaled, replaced, target], of };
}

function matchResult(
  { r, k, v, out, headSize }: Wkv7Op,
  uses: GraphUses,
): Found<'rK' | 'normWeight' | 'normBias' | 'gate' | 'normEpsilon' | 'out'> | undefined {
  const norm = uses.onlyReader(out);
  if (norm?.kind !== 'groupNorm' || norm.size !== headSize) return undefined;
  const sum = uses.onlyReader(norm.out);
  if (sum?.kind !== 'add' || sum.b.kind !== 'tensor') return undefined;
  const bonus = uses.producer(sum.a === norm.out ? sum.b : sum.a);
  if (bonus?.kind !== 'wkvBonus' || uses.onlyReader(bonus.out) !== sum || bonus.headSize !== headSize) {
    return undefined;
  }
  if (bonus.r !== r || bonus.k !== k || bonus.v !== v) return undefined;
  const gated = uses.onlyReader(sum.out);
  if (gated?.kind !== 'mul' || gated.b.kind !== 'tensor' || gated.a === gated.b) return undefined;
  const of = {
    rK: bonus.weight,
    normWeight: norm.weight,
    normBias: norm.bias,
    normEpsilon: norm.epsilon,
    gate: gated.a === sum.out ? gated.b : gated.a,
    out: gated.out,
  };
  return { ops: [norm, sum, bonus, gated], of };
}

function isVector(value: Tensor | Weight): value is Weight {
  return value.kind === 'weight' && value.rows === 1 && value.columns > 1;
}

/** Fuses the gated delta rule with the slices and elementwise operators before it, as in Qwen 3.5 and 3 Next. */
export function fuseGatedDelta(op: Op, to: GpuPlanner): Fusion | undefined {
  if (op.kind !== 'gatedDelta' || !to.has('fusedGatedDelta')) return undefined;
  const before = matchDeltaOperands(op, to.uses);
  if (!before) return undefined;
  const { ops, of } = before;
  return { ops: [op, ...ops], plan: () => to.add({ kind: 'fusedGatedDelta', op, of }) };
}

function matchDeltaOperands(
  op: GatedDeltaOp,
  uses: GraphUses,
): { readonly ops: readonly Op[]; readonly of: FusedGatedDeltaOperands } | undefined {
  const parts = [op.q, op.k, op.v].map((operand) => partOf(operand, op, uses));
  const [q, k, v] = parts;
  const decay = producerFor(op.decay, op, uses);
  const beta = producerFor(op.beta, op, uses);
  if (!q || !k || !v || decay?.kind !== 'mul' || beta?.kind !== 'unary' || beta.fn !== 'sigmoid') {
    return undefined;
  }
  const softplus = producerFor(decay.a, decay, uses);
  if (softplus?.kind !== 'unary' || softplus.fn !== 'softplus') return undefined;
  const sum = producerFor(softplus.x, softplus, uses);
  if (sum?.kind !== 'add' || !isHeadVector(sum.b, op) || !isHeadVector(decay.b, op)) return undefined;
  const rates = { alpha: sum.a, bias: sum.b, factor: decay.b, beta: beta.x };
  return {
    ops: [q.op, k.op, v.op, decay, softplus, sum, beta],
    of: { q: q.part, k: k.part, v: v.part, ...rates },
  };
}

/** The operator that computes a tensor, if only `reader` reads it. */
function producerFor(tensor: Tensor, reader: Op, uses: GraphUses): Op | undefined {
  return uses.onlyReader(tensor) === reader ? uses.producer(tensor) : undefined;
}

/** What a tensor is a slice of, if only `reader` reads it. */
function partOf(
  tensor: Tensor,
  reader: Op,
  uses: GraphUses,
): { readonly op: Op; readonly part: RowPart } | undefined {
  const op = producerFor(tensor, reader, uses);
  if (op?.kind !== 'slice' || op.segmentWidth !== op.out.width) return undefined;
  return { op, part: { of: op.x, offset: op.offset } };
}

function isHeadVector(value: Tensor | Weight, { heads }: GatedDeltaOp): value is Weight {
  return value.kind === 'weight' && value.rows === 1 && value.columns === heads;
}
