import type { BinaryOp, GatedOp, ScaleOp, UnaryOp } from '../../../ops/index.ts';
import type { Lowering } from './lowering.ts';

export function lowerBinary(op: BinaryOp, to: Lowering): void {
  const columns = op.out.width;
  const [a, out] = [to.tensor(op.a), to.tensor(op.out)];
  const vector = op.b.kind === 'weight' ? op.b : undefined;
  const b = op.b.kind === 'weight' ? to.weight(op.b, 'vector') : to.tensor(op.b);
  const shape = !vector ? 'rows' : vector.columns === 1 && columns > 1 ? 'value' : 'row';
  to.emit({
    table: { kind: op.kind, at: { a: a.id, b: b.id, out: out.id }, columns, b: shape },
    axis: op.out.axis,
    locality: 'element',
    local: vector ? [a] : [a, b],
    reads: vector ? [b] : [],
    writes: [out],
  });
}

export function lowerScale(op: ScaleOp, to: Lowering): void {
  const [x, out] = [to.tensor(op.x), to.tensor(op.out)];
  to.emit({
    table: { kind: 'scale', at: { x: x.id, out: out.id }, columns: op.out.width, factor: op.factor },
    axis: op.out.axis,
    locality: 'element',
    local: [x],
    writes: [out],
  });
}

export function lowerUnary(op: UnaryOp, to: Lowering): void {
  const [x, out] = [to.tensor(op.x), to.tensor(op.out)];
  to.emit({
    table: { kind: 'unary', at: { x: x.id, out: out.id }, columns: op.out.width, fn: op.fn },
    axis: op.out.axis,
    locality: 'element',
    local: [x],
    writes: [out],
  });
}

export function lowerGated(op: GatedOp, to: Lowering): void {
  const [gate, up, out] = [to.tensor(op.gate), to.tensor(op.up), to.tensor(op.out)];
  to.emit({
    table: {
      kind: 'gated',
      at: { gate: gate.id, up: up.id, out: out.id },
      columns: op.out.width,
      fn: op.fn,
    },
    axis: op.out.axis,
    locality: 'element',
    local: [gate, up],
    writes: [out],
  });
}
