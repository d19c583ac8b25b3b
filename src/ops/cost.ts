/** What an operator moves and computes at least: bytes read and written once each, multiplications and additions. */
export interface Cost {
  readonly bytes: number;
  readonly flops: number;
}

/** Rows in use and, for attention, how many positions a row looks at on average. */
export interface CostContext {
  readonly rows: number;
  readonly outputs: number;
  readonly attended: number;
}

/** The cost of an operator that touches `reads` + `writes` f32 elements a row and computes `flops` a row. */
export function rowwiseCost(rows: number, elements: number, flops: number): Cost {
  return { bytes: rows * elements * 4, flops: rows * flops };
}
