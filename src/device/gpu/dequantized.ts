import { type OpGraph, operandsOf, type Weight } from '../../ops/index.ts';
import { isPacked } from './plan-scope.ts';

/** Outputs that the epilogue of a library product processes at a time. */
export const FINISHED_OUTPUTS = 4;

/** Memory of a GPU, in bytes, from which on it is one for computing alone, and the share of its memory that copies may take unasked. */
const ROOMY = { memory: 64 * 2 ** 30, share: 1 / 2 } as const;
/** The same share of smaller ones. */
const USUAL_SHARE = 1 / 4;

/** Bytes of dequantized copies that a model may have unasked on a GPU with so much memory, in bytes. */
export function unaskedCopyBytes(memory: number): number {
  return Math.floor(memory * (memory >= ROOMY.memory ? ROOMY.share : USUAL_SHARE));
}

/**
 * The weights of a graph that have dequantized copies: of products that all rows of a batch have, and that a BLAS library computes where
 * these are many. Whatever the batch's size, they are the same.
 */
export function dequantizedWeights({ dequantized, ops }: OpGraph): ReadonlySet<Weight> {
  if (!dequantized) return new Set();
  const found = new Set<Weight>();
  const others = new Set<unknown>();
  for (const op of ops) {
    // Gate and up may be halves of one weight.
    const isCopied =
      op.kind === 'matmul' && op.x.axis === 'rows' && op.weight.rows % (2 * FINISHED_OUTPUTS) === 0;
    if (isCopied && isPacked(op.weight)) found.add(op.weight);
    else for (const operand of operandsOf(op)) others.add(operand);
  }
  return new Set([...found].filter((weight) => !others.has(weight)));
}
