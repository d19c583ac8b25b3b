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

/** A text in pieces of about so many UTF-16 units, without splitting characters. */
export function* stretchesOf(text: string, units: number): Generator<string, void> {
  for (let start = 0; start < text.length;) {
    let end = Math.min(text.length, start + units);
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end++;
    yield text.slice(start, end);
    start = end;
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

/** The bytes with a space for each U+2581, which is SentencePiece's spelling of spaces. */
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
