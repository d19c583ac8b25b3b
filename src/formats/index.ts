import { BF16 } from './bf16.ts';
import { F16 } from './f16.ts';
import { F32 } from './f32.ts';
import { F64 } from './f64.ts';
import { I8 } from './i8.ts';
import { I16 } from './i16.ts';
import { I32 } from './i32.ts';
import { I64 } from './i64.ts';
import type { TensorFormat } from './tensor-format.ts';

export type { TensorFormat } from './tensor-format.ts';

/** Every format that a GGUF file may hold here. */
export const ALL_FORMATS: readonly TensorFormat[] = [F32, F16, BF16, F64, I8, I16, I32, I64];

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
