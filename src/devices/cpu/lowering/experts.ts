import { fail } from '../../../base/errors.ts';
import type {
  CombineExpertsOp,
  MatmulExpertsOp,
  MatmulHeadsOp,
  RouteExpertsOp,
  ScaleExpertsOp,
} from '../../../ops/index.ts';
import type { Lowering } from './lowering.ts';
import { QUAD_ROWS } from '../weight-layouts.ts';
import { productInput } from './matmul.ts';

export function lowerRouteExperts(op: RouteExpertsOp, to: Lowering): void {
  const { logits, chosen, expertIds, routingWeights } = op;
  const { width: columns } = logits;
  to.emit(op, {
    locality: 'row',
    columns,
    local: [logits, ...(chosen ? [chosen] : [])],
    writes: [expertIds, routingWeights],
  });
}

export function lowerMatmulExperts(op: MatmulExpertsOp, to: Lowering): void {
  lowerMatrices(op, to);
}

export function lowerMatmulHeads(op: MatmulHeadsOp, to: Lowering): void {
  lowerMatrices(op, to);
}

/** A product that uses one of the weight's matrices after another. */
function lowerMatrices(op: MatmulExpertsOp | MatmulHeadsOp, to: Lowering): void {
  const { kind, weight, outputs } = op;
  const bias = kind === 'matmulExperts' ? op.bias : undefined;
  const chosen = kind === 'matmulExperts' ? op.expertIds : undefined;
  if (outputs % QUAD_ROWS !== 0) {
    const why = `${weight.name} is of matrices of ${outputs} rows, not a multiple of ${QUAD_ROWS}`;
    fail('OP_UNSUPPORTED', { device: 'cpu', op: kind, why });
  }
  to.emit(
    { ...op, x: productInput(op, to) },
    {
      locality: 'wide',
      weights: 'matrix',
      vectors: bias ? [bias] : [],
      columnUnit: QUAD_ROWS,
      columnBytes: to.packed(weight, 'matrix').byteLength / weight.rows,
      matrices: { columns: outputs, chosen },
    },
  );
}

export function lowerScaleExperts(op: ScaleExpertsOp, to: Lowering): void {
  to.emit(op, { locality: 'row', local: [op.x, op.expertIds] });
}

export function lowerCombineExperts(op: CombineExpertsOp, to: Lowering): void {
  to.emit(op, { locality: 'row', local: [op.x, op.routingWeights] });
}
