import type { Op } from '../../../../ops/index.ts';
import type { Lowering } from '../lowering.ts';
import type { GraphUses } from './graph-uses.ts';

/** Operators lowered together: launched where the last of them stands. */
export interface Fusion {
  readonly ops: readonly Op[];
  emit(to: Lowering): void;
}

/** Looks for a group of operators that begins with `op`. */
export type Fuse = (op: Op, uses: GraphUses, to: Lowering) => Fusion | undefined;
