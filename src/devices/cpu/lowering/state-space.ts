import { fail } from '../../../base/errors.ts';
import type { CausalConvOp, GatedDeltaOp, SelectiveScanOp } from '../../../ops/index.ts';
import { KERNEL_SCRATCH_BYTES } from '../protocol/reserved.ts';
import type { Lowering } from './lowering.ts';

/** A chunk takes all rows, because each needs the state that the previous one left. */
const ROWS_IN_ORDER = { locality: 'wide', rowsTogether: true } as const;
/** The columns of a head are computed together. */
const HEAD_BYTES = Number.POSITIVE_INFINITY;

/** Values that the kernels take at once, and vectors as long as a line of the state that they keep in scratch. */
const LANES = 4;
const SCRATCH_LINES = 3;

export function lowerCausalConv(op: CausalConvOp, to: Lowering): void {
  to.emit(op, { ...ROWS_IN_ORDER, scatters: [op.last] });
}

export function lowerGatedDelta(op: GatedDeltaOp, to: Lowering): void {
  checkLine(op.kind, op.keySize);
  const columns = { columnUnit: op.valueSize, columnBytes: HEAD_BYTES };
  to.emit(op, { ...ROWS_IN_ORDER, ...columns, scatters: [op.state] });
}

export function lowerSelectiveScan(op: SelectiveScanOp, to: Lowering): void {
  checkLine(op.kind, op.stateSize);
  const columns = { columnUnit: op.headSize, columnBytes: HEAD_BYTES };
  to.emit(op, { ...ROWS_IN_ORDER, ...columns, scatters: [op.state] });
}

function checkLine(op: 'gatedDelta' | 'selectiveScan', length: number): void {
  const most = KERNEL_SCRATCH_BYTES / (4 * SCRATCH_LINES);
  if (length % LANES === 0 && length <= most) return;
  const why = `lines of its state are ${length} values long, no multiple of ${LANES} of at most ${Math.floor(most)}`;
  fail('OP_UNSUPPORTED', { device: 'cpu', op, why });
}
