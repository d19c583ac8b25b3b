import { fail } from '../../base/errors.ts';

const SURROGATE = /\p{Surrogate}/u;
const encoder = new TextEncoder();

/** The text as UTF-8. Throws `GRAMMAR_INVALID` for a lone surrogate. */
export function bytesOf(text: string): Uint8Array {
  const ascii = asciiBytesOf(text);
  if (ascii) return ascii;
  if (SURROGATE.test(text)) {
    fail('GRAMMAR_INVALID', {
      reason: `${JSON.stringify(text)} has a lone surrogate, which no text can have`,
    });
  }
  return encoder.encode(text);
}

/** Avoids `TextEncoder`, whose call overhead exceeds the work for most texts. */
function asciiBytesOf(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code > 0x7f) return undefined;
    bytes[at] = code;
  }
  return bytes;
}
