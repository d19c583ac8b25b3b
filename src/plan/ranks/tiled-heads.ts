import { type Op, type OpGraph, type Tensor } from '../../ops/index.ts';

/**
 * Tensors with something for each value head of a gated delta rule in tiled order, by how often its key heads repeat in them: heads
 * that share a key head stand apart, so each repetition is cut alike.
 */
export function tiledTensors({ ops }: OpGraph): ReadonlyMap<Tensor, number> {
  const found = new Map<Tensor, number>();
  for (const op of ops) {
    if (op.kind !== 'gatedDelta' || op.keyOrder !== 'tiled' || op.heads === op.keyHeads) continue;
    for (const tensor of [op.v, op.decay, op.beta, op.out]) found.set(tensor, op.heads / op.keyHeads);
  }
  for (let before = -1; before < found.size;) {
    before = found.size;
    for (const op of ops) {
      const alike = columnwise(op);
      const repeat = alike.map((tensor) => found.get(tensor)).find((known) => known !== undefined);
      if (repeat !== undefined) for (const tensor of alike) found.set(tensor, repeat);
    }
  }
  return found;
}

/** The operands and the result of an operator whose columns, or groups of columns, correspond. */
function columnwise(op: Op): readonly Tensor[] {
  switch (op.kind) {
    case 'unary':
    case 'scale':
    case 'clamp':
    case 'causalConv':
      return [op.x, op.out];
    case 'rmsNorm':
    case 'l2Norm':
    case 'groupNorm':
      return op.size < op.x.width ? [op.x, op.out] : [];
    case 'add':
    case 'mul':
      return op.b.kind === 'tensor' ? [op.a, op.b, op.out] : [op.a, op.out];
    case 'gated':
      return [op.gate, op.up, op.out];
    default:
      return [];
  }
}
