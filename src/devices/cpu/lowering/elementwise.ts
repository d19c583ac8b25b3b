import type { BinaryOp, ClampOp, GatedOp, ScaleOp, UnaryOp } from '../../../ops/index.ts';
import type { Lowering } from './lowering.ts';

export function lowerBinary(op: BinaryOp, to: Lowering): void {
  const isPart = op.b.kind === 'tensor' && op.b.width !== op.a.width;
  to.emit(op, {
    locality: isPart ? 'row' : 'element',
    local: op.b.kind === 'weight' ? [op.a] : [op.a, op.b],
  });
}

export function lowerElement(op: ScaleOp | ClampOp | UnaryOp, to: Lowering): void {
  to.emit(op, { locality: 'element', local: [op.x] });
}

export function lowerGated(op: GatedOp, to: Lowering): void {
  to.emit(op, { locality: 'element', local: [op.gate, op.up] });
}
