import { fail } from '../../../base/errors.ts';
import {
  type CombineExpertsOp,
  type MatmulExpertsOp,
  type RouteExpertsOp,
  readsOwnPart,
  type ScaleExpertsOp,
} from '../../../ops/index.ts';
import type { Lowering } from './lowering.ts';
import { weightLayoutOf } from './weight-layout-of.ts';
import { QUAD_ROWS } from '../weight-layouts.ts';
import { productInput } from './matmul.ts';

export function lowerRouteExperts(op: RouteExpertsOp, to: Lowering): void {
  const { logits, bias, topK, gate, normalized, scale, groups, topKGroups } = op;
  const [x, experts, routingWeights] = [
    to.tensor(logits),
    to.tensor(op.expertIds),
    to.tensor(op.routingWeights),
  ];
  const vector = bias && to.weight(bias, 'vector');
  to.emit({
    table: {
      kind: 'routeExperts',
      at: {
        x: x.id,
        experts: experts.id,
        routingWeights: routingWeights.id,
        ...(vector && { bias: vector.id }),
      },
      columns: logits.width,
      rule: { topK, gate, normalized, scale, groups, topKGroups },
    },
    axis: logits.axis,
    locality: 'row',
    local: [x],
    reads: vector ? [vector] : [],
    writes: [experts, routingWeights],
  });
}

export function lowerMatmulExperts(op: MatmulExpertsOp, to: Lowering): void {
  const { weight, outputs } = op;
  if (outputs % QUAD_ROWS !== 0) {
    const why = `${weight.name} has ${outputs} rows an expert, not a multiple of ${QUAD_ROWS}`;
    fail('OP_UNSUPPORTED', { device: 'cpu', op: 'matmulExperts', why });
  }
  const { layout } = weightLayoutOf(weight.format);
  const x = productInput(op, to);
  const packed = to.weight(weight, 'matrix');
  const [experts, out] = [to.tensor(op.expertIds), to.tensor(op.out)];
  to.emit({
    table: {
      kind: 'matmulExperts',
      at: { x: x.id, experts: experts.id, weight: packed.id, out: out.id },
      matVec: layout.matVec,
      activations: layout.activations,
      columns: op.out.width,
      outputs,
      inner: weight.columns,
      parts: readsOwnPart(op) ? op.expertIds.width : 1,
      expertCount: weight.rows / outputs,
    },
    axis: op.out.axis,
    locality: 'wide',
    columnUnit: QUAD_ROWS,
    columnBytes: packed.byteLength / weight.rows,
    reads: [x, experts, packed],
    writes: [out],
  });
}

export function lowerScaleExperts(op: ScaleExpertsOp, to: Lowering): void {
  const [x, experts, out] = [to.tensor(op.x), to.tensor(op.expertIds), to.tensor(op.out)];
  const scales = to.weight(op.scales, 'vector');
  to.emit({
    table: {
      kind: 'scaleExperts',
      at: { x: x.id, experts: experts.id, scales: scales.id, out: out.id },
      columns: op.out.width,
      chosen: op.expertIds.width,
      expertCount: op.scales.columns,
    },
    axis: op.out.axis,
    locality: 'row',
    local: [x, experts],
    reads: [scales],
    writes: [out],
  });
}

export function lowerCombineExperts(op: CombineExpertsOp, to: Lowering): void {
  const [x, routingWeights, out] = [to.tensor(op.x), to.tensor(op.routingWeights), to.tensor(op.out)];
  to.emit({
    table: {
      kind: 'combineExperts',
      at: { x: x.id, routingWeights: routingWeights.id, out: out.id },
      columns: op.out.width,
      chosen: op.routingWeights.width,
    },
    axis: op.out.axis,
    locality: 'row',
    local: [x, routingWeights],
    writes: [out],
  });
}
