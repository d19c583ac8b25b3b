import type { GroupNormOp, L2NormOp, LayerNormOp, RmsNormOp } from '../../../ops/index.ts';
import type { Lowering } from './lowering.ts';

export function lowerRmsNorm(op: RmsNormOp, to: Lowering): void {
  const columns = op.out.width;
  const group = op.weight.columns;
  const [x, weight, out] = [to.tensor(op.x), to.weight(op.weight, 'vector'), to.tensor(op.out)];
  to.emit({
    table: {
      kind: 'rmsNorm',
      at: { x: x.id, weight: weight.id, out: out.id },
      columns,
      group,
      epsilon: op.epsilon,
    },
    axis: op.out.axis,
    locality: group < columns ? 'element' : 'row',
    columnUnit: group,
    local: [x],
    reads: [weight],
    writes: [out],
  });
}

export function lowerLayerNorm(op: LayerNormOp, to: Lowering): void {
  const columns = op.out.width;
  const [x, weight, out] = [to.tensor(op.x), to.weight(op.weight, 'vector'), to.tensor(op.out)];
  const bias = op.bias && to.weight(op.bias, 'vector');
  to.emit({
    table: {
      kind: 'layerNorm',
      at: { x: x.id, weight: weight.id, out: out.id, ...(bias && { bias: bias.id }) },
      columns,
      epsilon: op.epsilon,
    },
    axis: op.out.axis,
    locality: 'row',
    local: [x],
    reads: bias ? [weight, bias] : [weight],
    writes: [out],
  });
}

export function lowerGroupNorm(op: GroupNormOp, to: Lowering): void {
  const [x, out] = [to.tensor(op.x), to.tensor(op.out)];
  const [weight, bias] = [to.weight(op.weight, 'vector'), to.weight(op.bias, 'vector')];
  to.emit({
    table: {
      kind: 'groupNorm',
      at: { x: x.id, weight: weight.id, bias: bias.id, out: out.id },
      columns: op.out.width,
      group: op.size,
      epsilon: op.epsilon,
    },
    axis: op.out.axis,
    locality: 'element',
    columnUnit: op.size,
    local: [x],
    reads: [weight, bias],
    writes: [out],
  });
}

export function lowerL2Norm(op: L2NormOp, to: Lowering): void {
  const [x, out] = [to.tensor(op.x), to.tensor(op.out)];
  to.emit({
    table: {
      kind: 'l2Norm',
      at: { x: x.id, out: out.id },
      columns: op.out.width,
      group: op.size,
      epsilon: op.epsilon,
    },
    axis: op.out.axis,
    locality: 'element',
    columnUnit: op.size,
    local: [x],
    writes: [out],
  });
}
