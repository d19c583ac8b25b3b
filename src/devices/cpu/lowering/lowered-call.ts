import type { Axis } from '../../../ops/index.ts';
import type { CallTable } from '../protocol/call-table.ts';
import type { Operand } from './operands.ts';

/**
 * What a call reads to compute some rows and columns of its result: these elements, these rows, or anything. What it writes
 * is these elements in every case.
 */
export type Locality = 'element' | 'row' | 'wide';

/** One kernel call, before it has addresses. */
export interface LoweredCall {
  /** The call with numbers of operands in place of addresses. */
  readonly table: CallTable;
  readonly axis: Axis;
  readonly locality: Locality;
  /** Columns of its result, which can be computed apart unless it is row-wise. */
  readonly columns: number;
  /** Columns come in multiples of this. */
  readonly columnUnit: number;
  /** Bytes that a column takes to compute, about. */
  readonly columnBytes: number;
  /** The call wants all rows at once, because it passes over the same weights for each. */
  readonly rowsTogether: boolean;
  /** Read at the call's own elements or rows only. */
  readonly local: readonly Operand[];
  /** Read anywhere. */
  readonly reads: readonly Operand[];
  readonly writes: readonly Operand[];
  /** States written at places that only the data tells. */
  readonly scatters: readonly Operand[];
}
