import * as formats from './formats.ts';
import type { TensorFormat } from './tensor-format.ts';

export {
  type BitField,
  bitsOf,
  type BlockLayout,
  type BlockMin,
  type BlockNumber,
  type BlockScale,
  type CodeLevels,
  dependsOn,
  type EitherField,
  type GridLevels,
  type TernaryDigits,
} from './block-layout.ts';
export type { LazyCodebook } from './codebook.ts';
export type { AffineSearch, EncodeOptions, GroupFits } from './group-fits.ts';
export * from './formats.ts';
export type { TensorFormat } from './tensor-format.ts';

/** Every supported format, by ggml's ids; a new one takes a file and a line in `formats.ts`. */
export const ALL_FORMATS: readonly TensorFormat[] = Object.values<TensorFormat>(formats).sort(
  (a, b) => a.ggmlType - b.ggmlType,
);

const byType: ReadonlyMap<number, TensorFormat> = new Map(ALL_FORMATS.map((f) => [f.ggmlType, f]));
const byName: ReadonlyMap<string, TensorFormat> = new Map(ALL_FORMATS.map((f) => [f.name, f]));

/** The format of a ggml type id, or undefined. */
export function formatOf(ggmlType: number): TensorFormat | undefined {
  return byType.get(ggmlType);
}

/** The format of this name, ignoring case, or undefined. */
export function formatNamed(name: string): TensorFormat | undefined {
  return byName.get(name.toUpperCase());
}
