const encoder = new TextEncoder();

/** The UTF-8 bytes of a text. */
export function utf8Bytes(text: string): Uint8Array {
  return encoder.encode(text);
}

/** The text with every lone surrogate replaced by U+FFFD, as UTF-8 encoding would do. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd');
}
