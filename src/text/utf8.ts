const encoder = new TextEncoder();
const SPACE = 0x20;

/** The UTF-8 bytes of a text. */
export function utf8Bytes(text: string): Uint8Array {
  return encoder.encode(text);
}

/** The text with every lone surrogate replaced by U+FFFD, as UTF-8 encoding would do. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd');
}

/** The bytes with a space for each U+2581, which is how SentencePiece spells spaces. */
export function unescapeSpaces(bytes: Uint8Array): Uint8Array {
  const out = new Uint8Array(bytes.length);
  let length = 0;
  for (let i = 0; i < bytes.length; i++) {
    const escaped = bytes[i] === 0xe2 && bytes[i + 1] === 0x96 && bytes[i + 2] === 0x81;
    out[length++] = escaped ? SPACE : (bytes[i] as number);
    if (escaped) i += 2;
  }
  return out.subarray(0, length);
}
