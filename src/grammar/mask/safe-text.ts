/** The maximum number of characters of a safe token. */
export const MAX_CHARACTERS = 16;

/** ASCII characters that represent themselves in a JSON string: space to tilde, without quote and backslash. */
export const SAFE_BYTES: readonly number[] = Array.from({ length: 0x7f - 0x20 }, (_, i) => 0x20 + i).filter(
  (byte) => byte !== 0x22 && byte !== 0x5c,
);

/**
 * The possible bytes of multi-byte characters (Unicode, table 3-7): ranges for each byte. If all of them lead to the
 * same state, so does every character outside ASCII.
 */
export const LONG_CHARACTERS: readonly (readonly (readonly [number, number])[])[] = [
  [
    [0xc2, 0xdf],
    [0x80, 0xbf],
  ],
  [
    [0xe0, 0xe0],
    [0xa0, 0xbf],
    [0x80, 0xbf],
  ],
  [
    [0xe1, 0xec],
    [0x80, 0xbf],
    [0x80, 0xbf],
  ],
  [
    [0xed, 0xed],
    [0x80, 0x9f],
    [0x80, 0xbf],
  ],
  [
    [0xee, 0xef],
    [0x80, 0xbf],
    [0x80, 0xbf],
  ],
  [
    [0xf0, 0xf0],
    [0x90, 0xbf],
    [0x80, 0xbf],
    [0x80, 0xbf],
  ],
  [
    [0xf1, 0xf3],
    [0x80, 0xbf],
    [0x80, 0xbf],
    [0x80, 0xbf],
  ],
  [
    [0xf4, 0xf4],
    [0x80, 0x8f],
    [0x80, 0xbf],
    [0x80, 0xbf],
  ],
];

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const UNSAFE = /[^\x20-\x7e\x80-\u{10ffff}]|["\\]/u;

/** The number of characters if the whole text is safe; undefined for other and longer texts. */
export function safeLength(bytes: Uint8Array): number | undefined {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    return undefined;
  }
  if (UNSAFE.test(text)) return undefined;
  const length = Array.from(text).length;
  return length > 0 && length <= MAX_CHARACTERS ? length : undefined;
}
