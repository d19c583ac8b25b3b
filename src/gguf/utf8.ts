import { fail } from '../base/errors.ts';

// A byte order mark is kept like any other character, because a vocabulary may have it as a token.
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const lenient = new TextDecoder('utf-8', { ignoreBOM: true });

const GROUP_STRINGS = 256;

/** Decodes a name, which must be valid UTF-8. */
export function decodeName(bytes: Uint8Array, source: string, what: string): string {
  try {
    return strict.decode(bytes);
  } catch {
    const shown = JSON.stringify(lenient.decode(bytes.subarray(0, 64)));
    return fail('GGUF_INVALID', { source, what, found: `${shown}, not UTF-8`, expected: 'valid UTF-8' });
  }
}

/** Decodes a value; bytes that are not UTF-8 become U+FFFD. */
export function decodeText(bytes: Uint8Array): string {
  return lenient.decode(bytes);
}

/** Calls `visit` with the range of each of `count` length-prefixed strings, starting at `start`. */
export function forEachString(
  bytes: Uint8Array,
  start: number,
  count: number,
  visit: (from: number, to: number) => void,
): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let position = start;
  for (let index = 0; index < count; index++) {
    const from = position + 8;
    position = from + view.getUint32(position + 4, true) * 2 ** 32 + view.getUint32(position, true);
    visit(from, position);
  }
}

/**
 * Decodes an array of strings. One decoder call per string would double the time for a large vocabulary, so strings are
 * decoded in groups, including the length prefixes, and sliced from the text; a group that is not valid UTF-8 is
 * decoded string by string.
 */
export function decodeTexts(bytes: Uint8Array, start: number, count: number): string[] {
  const texts: string[] = [];
  let position = start;
  for (let first = 0; first < count; first += GROUP_STRINGS) {
    const inGroup = Math.min(GROUP_STRINGS, count - first);
    let end = position;
    forEachString(bytes, position, inGroup, (_, to) => {
      end = to;
    });
    const group = bytes.subarray(position, end);
    const text = decodeIfValid(group);
    if (text === undefined) {
      forEachString(group, 0, inGroup, (from, to) => texts.push(lenient.decode(group.subarray(from, to))));
    } else cutTexts(group, inGroup, text, texts);
    position = end;
  }
  return texts;
}

/** Appends the strings of a group that was decoded completely into `text`. */
function cutTexts(group: Uint8Array, count: number, text: string, texts: string[]): void {
  let byte = 0;
  let unit = 0;
  forEachString(group, 0, count, (from, to) => {
    unit += unitsOf(group, byte, from);
    const end = unit + unitsOf(group, from, to);
    texts.push(text.slice(unit, end));
    byte = to;
    unit = end;
  });
}

/** UTF-16 units of valid UTF-8: one per leading byte, two for four-byte sequences. */
function unitsOf(bytes: Uint8Array, from: number, to: number): number {
  let units = 0;
  for (let at = from; at < to; at++) {
    const byte = bytes[at] as number;
    if ((byte & 0xc0) !== 0x80) units += byte >= 0xf0 ? 2 : 1;
  }
  return units;
}

function decodeIfValid(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes);
  } catch {
    return undefined;
  }
}
