import type { EncodedValue } from './metadata.ts';
import type { NumberType } from './value-type.ts';

/** Text, or bytes that need not be UTF-8. */
export type TextValue = string | Uint8Array;

/** A metadata array to be written. */
export type GgufArray =
  | { readonly type: 'array'; readonly element: NumberType; readonly values: ArrayLike<number | bigint> }
  | { readonly type: 'array'; readonly element: 'bool'; readonly values: readonly boolean[] }
  | { readonly type: 'array'; readonly element: 'string'; readonly values: readonly TextValue[] }
  | { readonly type: 'array'; readonly element: 'array'; readonly values: readonly GgufArray[] };

/** A metadata value to be written; one obtained from another file's `encoded` is written unchanged. */
export type GgufValue =
  | { readonly type: NumberType; readonly value: number | bigint }
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'string'; readonly value: TextValue }
  | GgufArray
  | EncodedValue;
