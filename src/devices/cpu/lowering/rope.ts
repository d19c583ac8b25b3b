import type { RopeOp, RopeTableOp } from '../../../ops/index.ts';
import type { Lowering } from './lowering.ts';

export function lowerRopeTable(op: RopeTableOp, to: Lowering): void {
  to.emit(op, { locality: 'row', local: [op.positions] });
}

export function lowerRope(op: RopeOp, to: Lowering): void {
  to.emit(op, { locality: 'element', columnUnit: op.headSize, local: [op.x] });
}
