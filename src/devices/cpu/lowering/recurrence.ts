import { fail } from '../../../base/errors.ts';
import type { LerpOp, TokenShiftOp, Wkv7Op, WkvBonusOp } from '../../../ops/index.ts';
import type { Lowering } from './lowering.ts';

/** A chunk takes all rows, because each needs what the one before left in the state. */
const ROWS_IN_ORDER = { axis: 'rows', locality: 'wide', rowsTogether: true } as const;

/** Values that the recurrence's kernel takes at once. */
const LANES = 4;

export function lowerTokenShift(op: TokenShiftOp, to: Lowering): void {
  const [x, last, out] = [to.tensor(op.x), to.state(op.last), to.tensor(op.out)];
  const [positions, slots] = [to.tensor(op.batch.positions), to.tensor(op.batch.slots)];
  to.emit({
    ...ROWS_IN_ORDER,
    table: {
      kind: 'tokenShift',
      at: { x: x.id, last: last.id, positions: positions.id, slots: slots.id, out: out.id },
      columns: op.out.width,
      slotCount: op.last.rows,
    },
    reads: [x, positions, slots],
    writes: [out],
    scatters: [last],
  });
}

export function lowerWkv7(op: Wkv7Op, to: Lowering): void {
  if (op.headSize % LANES !== 0) {
    const why = `its heads are ${op.headSize} wide, not a multiple of ${LANES}`;
    fail('OP_UNSUPPORTED', { device: 'cpu', op: 'wkv7', why });
  }
  const operands = [op.r, op.w, op.k, op.v, op.kk, op.a].map((of) => to.tensor(of));
  const [r, w, k, v, kk, a] = operands.map(({ id }) => id) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const [state, out] = [to.state(op.state), to.tensor(op.out)];
  const [positions, slots] = [to.tensor(op.batch.positions), to.tensor(op.batch.slots)];
  const at = { r, w, k, v, kk, a, state: state.id, positions: positions.id, slots: slots.id, out: out.id };
  to.emit({
    ...ROWS_IN_ORDER,
    table: {
      kind: 'wkv7',
      at,
      columns: op.out.width,
      headSize: op.headSize,
      slotCount: op.state.rows,
    },
    columnUnit: op.headSize,
    columnBytes: Number.POSITIVE_INFINITY,
    reads: [...operands, positions, slots],
    writes: [out],
    scatters: [state],
  });
}

export function lowerWkvBonus(op: WkvBonusOp, to: Lowering): void {
  const [r, k, v] = [to.tensor(op.r), to.tensor(op.k), to.tensor(op.v)];
  const [weight, out] = [to.weight(op.weight, 'vector'), to.tensor(op.out)];
  to.emit({
    table: {
      kind: 'wkvBonus',
      at: { r: r.id, k: k.id, v: v.id, weight: weight.id, out: out.id },
      columns: op.out.width,
      headSize: op.headSize,
    },
    axis: 'rows',
    locality: 'element',
    columnUnit: op.headSize,
    local: [r, k, v],
    reads: [weight],
    writes: [out],
  });
}

export function lowerLerp(op: LerpOp, to: Lowering): void {
  const [a, b, out] = [to.tensor(op.a), to.tensor(op.b), to.tensor(op.out)];
  const t = op.t.kind === 'weight' ? to.weight(op.t, 'vector') : to.tensor(op.t);
  to.emit({
    table: {
      kind: 'lerp',
      at: { a: a.id, b: b.id, t: t.id, out: out.id },
      columns: op.out.width,
      weightRow: op.t.kind === 'weight' ? op.row : undefined,
    },
    axis: op.out.axis,
    locality: 'element',
    local: op.t.kind === 'weight' ? [a, b] : [a, b, t],
    reads: op.t.kind === 'weight' ? [t] : [],
    writes: [out],
  });
}
