import { IQ1_BOOK } from './codebooks.ts';

/** The shift that IQ1_S and IQ1_M add to or subtract from every level of an entry. */
export const IQ1_DELTA = 0.125;

/** Writes the 8 levels of an entry, each shifted by `delta`, times `scale`. */
export function writeShifted(
  out: Float32Array,
  to: number,
  scale: number,
  levels: { readonly entry: number; readonly delta: number },
): void {
  const book = IQ1_BOOK();
  for (let i = 0; i < 8; i++) {
    out[to + i] = scale * ((book[8 * levels.entry + i] as number) + levels.delta);
  }
}
