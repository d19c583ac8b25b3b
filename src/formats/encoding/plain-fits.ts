import { fitAffine } from './fit-affine.ts';
import { fitSigned, refineSigned } from './fit-signed.ts';
import { fitTable } from './fit-table.ts';
import type { AffineSearch, GroupFits } from '../group-fits.ts';

/** Elements of a block whose groups are fitted, and its groups at most. */
const ELEMENTS = 256;
const GROUPS = 16;

/** The searches in TypeScript: they run everywhere, and `WasmFits` is compared with them. */
export class PlainFits implements GroupFits {
  readonly values = new Float32Array(ELEMENTS);
  readonly weights = new Float32Array(ELEMENTS);
  readonly scales = new Float32Array(GROUPS);
  readonly mins = new Float32Array(GROUPS);

  affine(size: number, limit: number, search: AffineSearch): void {
    for (const [i, group] of this.#groups(size).entries()) {
      const { scale, min } = fitAffine(group, limit, search);
      this.scales[i] = scale;
      this.mins[i] = min;
    }
  }

  signed(size: number, limit: number): void {
    for (const [i, group] of this.#groups(size).entries()) this.scales[i] = fitSigned(group, limit).scale;
  }

  refined(size: number, limit: number): void {
    for (const [i, group] of this.#groups(size).entries()) this.scales[i] = refineSigned(group, limit);
  }

  table(levels: Int8Array): void {
    for (const [i, group] of this.#groups(32).entries()) this.scales[i] = fitTable(group, levels);
  }

  #groups(size: number) {
    return Array.from({ length: ELEMENTS / size }, (_, i) => ({
      values: this.values,
      from: i * size,
      count: size,
      weights: this.weights.subarray(i * size, (i + 1) * size),
    }));
  }
}
