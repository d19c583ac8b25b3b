/**
 * A regular language over Unicode text, as data. It includes intersection and complement, which derivatives of regular
 * expressions (Brzozowski 1964) support at no extra cost. Bytes are matched as UTF-8.
 */
export type Regex =
  /** No text, not even the empty one. */
  | { readonly kind: 'never' }
  /** Exactly this text; the compiler refuses lone surrogates. */
  | { readonly kind: 'text'; readonly text: string }
  /** One code point in one of these ranges: inclusive bounds, ascending, not overlapping. */
  | { readonly kind: 'set'; readonly ranges: readonly (readonly [number, number])[] }
  | { readonly kind: 'sequence'; readonly parts: readonly Regex[] }
  | { readonly kind: 'choice'; readonly parts: readonly Regex[] }
  /** The texts that all parts match. */
  | { readonly kind: 'both'; readonly parts: readonly Regex[] }
  /** Every text (of whole Unicode scalar values) that the part does not match. */
  | { readonly kind: 'not'; readonly part: Regex }
  /** `min` to `max` repetitions of the part; `max` may be Infinity. */
  | { readonly kind: 'repeat'; readonly part: Regex; readonly min: number; readonly max: number }
  /**
   * Unsigned decimal numerals, `[0-9]+(\.[0-9]+)?`, whose value is a multiple of `step / 10^scale`. Leading zeros,
   * signs and bounds are other parts of a `both`.
   */
  | { readonly kind: 'multiple'; readonly step: bigint; readonly scale: number };
