import type {
  GaussianTopKOp,
  GroupNormOp,
  HadamardOp,
  L2NormOp,
  LayerNormOp,
  RmsNormOp,
} from '../../../ops/index.ts';
import type { Lowering } from './lowering.ts';

export function lowerRmsNorm(op: RmsNormOp, to: Lowering): void {
  const locality = op.size < op.out.width ? 'element' : 'row';
  to.emit(op, { locality, columnUnit: op.size, local: [op.x] });
}

export function lowerRowNorm(op: LayerNormOp | GaussianTopKOp, to: Lowering): void {
  to.emit(op, { locality: 'row', local: [op.x] });
}

export function lowerGroups(op: GroupNormOp | L2NormOp | HadamardOp, to: Lowering): void {
  to.emit(op, { locality: 'element', columnUnit: op.size, local: [op.x] });
}
