import type { GgufValue } from '../../gguf/index.ts';

/** A string as metadata hold it. */
export function text(value: string): GgufValue {
  return { type: 'string', value };
}

/** A count as metadata hold it. */
export function count(value: number): GgufValue {
  return { type: 'u32', value };
}

/** A real number as metadata hold it. */
export function real(value: number): GgufValue {
  return { type: 'f32', value };
}

/** A yes or no as metadata hold it. */
export function flag(value: boolean): GgufValue {
  return { type: 'bool', value };
}
