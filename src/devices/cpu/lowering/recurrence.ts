import { fail } from '../../../base/errors.ts';
import type { LerpOp, TokenShiftOp, Wkv7Op, WkvBonusOp } from '../../../ops/index.ts';
import type { Lowering } from './lowering.ts';

/** A chunk takes all rows, because each needs the state that the previous one left. */
const ROWS_IN_ORDER = { locality: 'wide', rowsTogether: true } as const;

/** Values that the recurrence's kernel processes at once. */
const LANES = 4;

export function lowerTokenShift(op: TokenShiftOp, to: Lowering): void {
  to.emit(op, { ...ROWS_IN_ORDER, scatters: [op.last] });
}

export function lowerWkv7(op: Wkv7Op, to: Lowering): void {
  const { headSize } = op;
  if (headSize % LANES !== 0) {
    const why = `its heads are ${headSize} wide, not a multiple of ${LANES}`;
    fail('OP_UNSUPPORTED', { device: 'cpu', op: 'wkv7', why });
  }
  const columnBytes = Number.POSITIVE_INFINITY;
  to.emit(op, { ...ROWS_IN_ORDER, columnUnit: headSize, columnBytes, scatters: [op.state] });
}

export function lowerWkvBonus(op: WkvBonusOp, to: Lowering): void {
  to.emit(op, { locality: 'element', columnUnit: op.headSize, local: [op.r, op.k, op.v] });
}

export function lowerLerp(op: LerpOp, to: Lowering): void {
  const { a, b, t } = op;
  to.emit(op, { locality: 'element', local: t.kind === 'weight' ? [a, b] : [a, b, t] });
}
