/** The kinds of a vocabulary's entries, by the numbers of `tokenizer.ggml.token_type`. */
export const TOKEN_TYPES = {
  undefined: 0,
  normal: 1,
  unknown: 2,
  control: 3,
  userDefined: 4,
  unused: 5,
  byte: 6,
} as const;

/** The name of a vocabulary entry's kind. */
export type TokenType = keyof typeof TOKEN_TYPES;

const NAMES = Object.keys(TOKEN_TYPES) as TokenType[];

/** The name of a type's number; numbers that the format does not define count as undefined. */
export function tokenTypeName(value: number): TokenType {
  return NAMES[value] ?? 'undefined';
}
