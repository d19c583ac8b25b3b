import type { RowCut } from './stream.ts';

/** Copies rows that are cut out of a matrix to where they follow one another. */
export function copyCut({ stride, rows, bytes }: RowCut, source: Uint8Array, target: Uint8Array): void {
  let at = 0;
  for (const { start, end } of rows) {
    for (let base = start * stride; base < end * stride; base += stride) {
      for (const piece of bytes) {
        target.set(source.subarray(base + piece.start, base + piece.end), at);
        at += piece.end - piece.start;
      }
    }
  }
}

/** Bytes from the first row of the matrix to the end of the last one of a cut. */
export function cutSpan({ stride, rows }: RowCut): number {
  return Math.max(0, ...rows.map(({ end }) => end)) * stride;
}
