import type { BinaryOp, GatedOp, ScaleOp, UnaryOp } from '../../../ops/index.ts';
import type { Lowering } from './lowering.ts';

export function lowerBinary(op: BinaryOp, to: Lowering): void {
  to.emit(op, { locality: 'element', local: op.b.kind === 'weight' ? [op.a] : [op.a, op.b] });
}

export function lowerElement(op: ScaleOp | UnaryOp, to: Lowering): void {
  to.emit(op, { locality: 'element', local: [op.x] });
}

export function lowerGated(op: GatedOp, to: Lowering): void {
  to.emit(op, { locality: 'element', local: [op.gate, op.up] });
}
