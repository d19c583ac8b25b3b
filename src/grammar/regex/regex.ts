/**
 * A regular language over Unicode text, as data. Besides the usual operators there are intersection and complement, which
 * derivatives of regular expressions (Brzozowski 1964) give for nothing. What it means in bytes is UTF-8's.
 */
export type Regex =
  /** No text at all, not even the empty one. */
  | { readonly kind: 'never' }
  /** Exactly this text; lone surrogates are refused by whoever compiles it. */
  | { readonly kind: 'text'; readonly text: string }
  /** One code point in one of these ranges, both ends included, in ascending order, none overlapping. */
  | { readonly kind: 'set'; readonly ranges: readonly (readonly [number, number])[] }
  | { readonly kind: 'sequence'; readonly parts: readonly Regex[] }
  | { readonly kind: 'choice'; readonly parts: readonly Regex[] }
  /** What all parts match. */
  | { readonly kind: 'both'; readonly parts: readonly Regex[] }
  /** Every text (of whole Unicode scalar values) that the part does not match. */
  | { readonly kind: 'not'; readonly part: Regex }
  /** `min` to `max` times the part; `max` may be Infinity. */
  | { readonly kind: 'repeat'; readonly part: Regex; readonly min: number; readonly max: number }
  /**
   * Decimal numerals without sign, `[0-9]+(\.[0-9]+)?`, whose value is a whole multiple of `step / 10^scale`. Leading zeros,
   * sign and bounds are other parts of a `both`.
   */
  | { readonly kind: 'multiple'; readonly step: bigint; readonly scale: number };
