import type { ShiftLerpsIntent } from '../../../device/index.ts';
import type {
  GroupNormOp,
  HadamardOp,
  L2NormOp,
  LerpOp,
  TokenShiftOp,
  Weight,
  WkvBonusOp,
} from '../../../ops/index.ts';
import type { Operand } from './launch-plan.ts';
import { float, int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

const THREADS = 256;

export function lowerTokenShift({ x, last, batch, out }: TokenShiftOp, to: Lowering): void {
  to.launch({
    file: 'recurrence.hip',
    kernel: 'token_shift',
    grid: [Math.ceil(out.width / THREADS)],
    block: THREADS,
    args: [to.count(out), batch.slots, batch.positions, x, last, out, int(out.width)],
  });
}

/** Rows of which a thread interpolates a column, without the norm before. */
const SHIFTED_ROWS = 4;

/** All interpolations of rows with the previous ones (token shift). */
export function emitShiftLerps({ shift, lerps, rounded, norm }: ShiftLerpsIntent, to: Lowering): void {
  const { x, last, batch } = shift;
  const vector = (weight: Weight | undefined): Operand => (weight ? to.weight([weight], FLOAT_LAYOUT) : NULL);
  const factors = lerps.map(({ row }, m) => `f32 factor${m} = t${m}[${row} * i64(width) + column];`);
  const stores = lerps.map((_, m) => {
    const value = `lerp(values[q], before[q], factor${m})`;
    return `y${m}[at] = ${rounded[m] ? `rounded(${value})` : value};`;
  });
  const rows = norm ? 1 : SHIFTED_ROWS;
  to.launch({
    file: 'shift-lerps.hip',
    kernel: 'shift_lerps',
    defines: {
      NORMED: norm ? 1 : 0,
      ...(norm ? { OWN: Math.ceil(x.width / THREADS) } : {}),
      ROWS: rows,
      BFLOATS: rounded.some((y) => y?.type === 'bf16') ? 1 : 0,
      PARAMETERS: lerps.map((_, m) => `, const f32* t${m}, ${rounded[m] ? 'u16' : 'f32'}* y${m}`).join(''),
      FACTORS: factors.join(' '),
      STORES: stores.join(' '),
    },
    grid: [Math.ceil(x.width / THREADS), Math.ceil(to.capacity(x) / rows)],
    block: THREADS,
    args: [
      to.count(x),
      batch.slots,
      batch.slotRows,
      batch.positions,
      norm ? norm.x : x,
      vector(norm?.weight),
      vector(norm?.bias),
      float(norm?.epsilon ?? 0),
      last,
      int(x.width),
      ...lerps.flatMap(({ t, out }, m) => [vector(t), rounded[m]?.memory ?? out]),
    ],
  });
}

export function lowerLerp({ a, b, t, row, out }: LerpOp, to: Lowering): void {
  const weights = t.kind === 'weight' ? to.weight([t], FLOAT_LAYOUT) : t;
  to.launch({
    file: 'recurrence.hip',
    kernel: 'lerp_rows',
    grid: [Math.ceil((to.capacity(out) * out.width) / THREADS)],
    block: THREADS,
    args: [to.count(out), a, b, weights, out, int(out.width), int(t.kind === 'weight' ? row : -1)],
  });
}

export function lowerWkvBonus({ r, k, v, weight, headSize, out }: WkvBonusOp, to: Lowering): void {
  to.launch({
    file: 'recurrence.hip',
    kernel: 'wkv_bonus',
    grid: [to.capacity(out), out.width / headSize],
    block: THREADS,
    args: [to.count(out), r, k, v, to.weight([weight], FLOAT_LAYOUT), out, int(out.width), int(headSize)],
  });
}

export function lowerGroupNorm({ x, size, weight, bias, epsilon, out }: GroupNormOp, to: Lowering): void {
  const weights = to.weight([weight], FLOAT_LAYOUT);
  const biases = to.weight([bias], FLOAT_LAYOUT);
  to.launch({
    file: 'group-norm.hip',
    kernel: 'group_norm',
    grid: [to.capacity(out), out.width / size],
    block: THREADS,
    args: [to.count(out), x, weights, biases, out, int(out.width), int(size), float(epsilon)],
  });
}

/** Columns of a row that a block rotates; groups divide them. */
const HADAMARD_COLUMNS = 128;

export function lowerHadamard({ x, size, out }: HadamardOp, to: Lowering): void {
  to.launch({
    file: 'hadamard.hip',
    kernel: 'hadamard',
    defines: { SIZE: size },
    grid: [to.capacity(out), Math.ceil(out.width / HADAMARD_COLUMNS)],
    block: HADAMARD_COLUMNS,
    args: [to.count(out), x, out, int(out.width), float(1 / Math.sqrt(size))],
  });
}

export function lowerL2Norm({ x, by, size, epsilon, out }: L2NormOp, to: Lowering): void {
  to.launch({
    file: 'group-norm.hip',
    kernel: 'l2_norm',
    grid: [to.capacity(out), out.width / size],
    block: THREADS,
    args: [to.count(out), x, out, int(out.width), int(size), float(epsilon), int(by === 'rms' ? 1 : 0)],
  });
}
