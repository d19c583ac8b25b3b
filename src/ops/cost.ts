/**
 * A lower bound of what an operator moves and computes: bytes, with each operand read and written once, and
 * floating-point operations.
 */
export interface Cost {
  readonly bytes: number;
  readonly flops: number;
}

/** Rows in use and, for attention, the mean number of positions that a row attends to. */
export interface CostContext {
  readonly rows: number;
  readonly outputs: number;
  readonly attended: number;
}

/** The cost of an operator that touches `reads` + `writes` f32 elements and computes `flops` per row. */
export function rowwiseCost(rows: number, elements: number, flops: number): Cost {
  return { bytes: rows * elements * 4, flops: rows * flops };
}
