import type { Vocabulary } from '../vocabulary.ts';

const SPELLING = /^<0x([0-9A-Fa-f]{2})>$/;

/** The value of a byte token spelled `<0xNN>`, or undefined. */
export function byteValue(spelling: string): number | undefined {
  const hex = SPELLING.exec(spelling)?.[1];
  return hex === undefined ? undefined : Number.parseInt(hex, 16);
}

/** The ids of the 256 byte tokens `<0xNN>`; for a missing one the unknown token, or -1. */
export function byteTokenIds(vocabulary: Vocabulary, unknown: number | undefined): Int32Array {
  return Int32Array.from({ length: 256 }, (_, byte) => {
    const spelling = `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;
    const single = byte < 0x80 ? vocabulary.plainIdOf(String.fromCharCode(byte)) : undefined;
    return vocabulary.idOf(spelling) ?? single ?? unknown ?? -1;
  });
}
