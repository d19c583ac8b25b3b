import type { BinaryOp, ClampOp, GatedOp, ScaleOp, UnaryOp } from '../../../ops/index.ts';
import type { Lowering } from './lowering.ts';

export function lowerBinary(op: BinaryOp, to: Lowering): void {
  const { a, b } = op;
  const isPart = b.kind === 'tensor' ? b.width !== a.width : b.columns > 1 && b.columns !== a.width;
  to.emit(op, {
    locality: isPart ? 'row' : 'element',
    local: b.kind === 'weight' ? [a] : [a, b],
  });
}

export function lowerElement(op: ScaleOp | ClampOp | UnaryOp, to: Lowering): void {
  to.emit(op, { locality: 'element', local: [op.x] });
}

export function lowerGated(op: GatedOp, to: Lowering): void {
  to.emit(op, { locality: 'element', local: [op.gate, op.up] });
}
