/** The number of rows in use by axis, while a segment runs. */
export interface RowCounts {
  rows: number;
  outputs: number;
  slots: number;
  one: number;
}

/** Work that divides into chunks, which any worker may run in any order. */
export interface Chunked {
  /** Number of chunks since the last `prepare`; the same in every worker. */
  readonly chunks: number;
  prepare(counts: RowCounts): void;
  run(chunk: number): void;
}

/** A part of a command that depends on all parts before it. */
export interface Phase {
  /** Called before the first chunk that this worker runs, while the phase is open. Returns the number of chunks, the same in every worker. */
  prepare(): number;
  run(chunk: number): void;
}
