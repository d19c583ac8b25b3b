import type { Axis } from '../../../ops/index.ts';
import type { CallTable } from '../protocol/call-table.ts';
import type { Operand } from './operands.ts';

/**
 * What a call reads to compute some rows and columns of its result: the same elements, the same rows, or anything. It
 * always writes only these elements.
 */
export type Locality = 'element' | 'row' | 'wide';

/** Which matrix computes which part of a row: the one that is chosen for it, or the one of the part's own index. */
export interface RowMatrices {
  readonly chosen: Operand | undefined;
  /** Columns of a part. */
  readonly columns: number;
}

/** One kernel call, before it has addresses. */
export interface LoweredCall {
  /** The call with operand numbers in place of addresses. */
  readonly table: CallTable;
  readonly axis: Axis;
  readonly locality: Locality;
  /** Columns of its result, which can be computed separately unless it is row-wise. */
  readonly columns: number;
  /** Chunks have a multiple of this many columns. */
  readonly columnUnit: number;
  /** Approximate cost of a column, in bytes. */
  readonly columnBytes: number;
  /** Whether the call takes all rows at once, because it passes over the same weights for each. */
  readonly rowsTogether: boolean;
  /** Set where each part of a row is a product with a matrix of its own. */
  readonly matrices: RowMatrices | undefined;
  /** Operands read at the call's own elements or rows only. */
  readonly local: readonly Operand[];
  /** Operands read anywhere. */
  readonly reads: readonly Operand[];
  /** Matrices, which products read in the order of their columns, from whatever bank they are in. */
  readonly streamed: readonly Operand[];
  readonly writes: readonly Operand[];
  /** States written at data-dependent positions. */
  readonly scatters: readonly Operand[];
}
