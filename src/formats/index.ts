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
export * from './formats.ts';
export type { TensorFormat } from './tensor-format.ts';

/** Every format that a GGUF file may hold here, by ggml's ids: one line in `formats.ts` adds one. */
export const ALL_FORMATS: readonly TensorFormat[] = Object.values<TensorFormat>(formats).sort(
  (a, b) => a.ggmlType - b.ggmlType,
);

const byType: ReadonlyMap<number, TensorFormat> = new Map(ALL_FORMATS.map((f) => [f.ggmlType, f]));
const byName: ReadonlyMap<string, TensorFormat> = new Map(ALL_FORMATS.map((f) => [f.name, f]));

/** The format of a ggml type id, undefined when it is unknown. */
export function formatOf(ggmlType: number): TensorFormat | undefined {
  return byType.get(ggmlType);
}

/** The format of that name in any case, undefined when it is unknown. */
export function formatNamed(name: string): TensorFormat | undefined {
  return byName.get(name.toUpperCase());
}
