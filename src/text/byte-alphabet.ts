/**
 * GPT-2's spelling of bytes as printable characters: visible Latin-1 characters represent themselves, the other 68
 * bytes are U+0100 onward in order.
 */
function isVisible(byte: number): boolean {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xff && byte !== 0xad);
}

let characters: readonly string[] | undefined;
let bytesByCode: Int16Array | undefined;

/** The character of each byte. */
export function byteCharacters(): readonly string[] {
  if (characters === undefined) {
    let next = 0x100;
    characters = Array.from({ length: 256 }, (_, byte) =>
      String.fromCharCode(isVisible(byte) ? byte : next++),
    );
  }
  return characters;
}

/** The bytes that a token's spelling represents; undefined if a character is not in this alphabet. */
export function bytesOfSpelling(spelling: string): Uint8Array | undefined {
  bytesByCode ??= indexCharacters();
  const bytes = new Uint8Array(spelling.length);
  for (let i = 0; i < spelling.length; i++) {
    const byte = bytesByCode[spelling.charCodeAt(i)] ?? -1;
    if (byte < 0) return undefined;
    bytes[i] = byte;
  }
  return bytes;
}

function indexCharacters(): Int16Array {
  const index = new Int16Array(0x144).fill(-1);
  for (const [byte, character] of byteCharacters().entries()) index[character.charCodeAt(0)] = byte;
  return index;
}
