import type { Fusion, GraphUses } from '../../../../device/index.ts';
import type { Op } from '../../../../ops/index.ts';
import type { Lowering } from '../lowering.ts';
import { launchRmsNorm } from '../norm.ts';

/** The norm of a block's result and the addition of what went into the block, as Gemma has them. */
export function fuseNormedResidual(op: Op, uses: GraphUses, to: Lowering): Fusion | undefined {
  if (op.kind !== 'rmsNorm') return undefined;
  const sum = uses.onlyReader(op.out);
  if (sum?.kind !== 'add' || sum.b.kind !== 'tensor' || sum.a === sum.b) return undefined;
  const addend = sum.a === op.out ? sum.b : sum.a;
  // A kernel binds a buffer's part once where it also writes another part of it.
  if (addend === op.x) return undefined;
  return { ops: [op, sum], emit: () => launchRmsNorm(op, { addend, y: sum.out }, to) };
}
