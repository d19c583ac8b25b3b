/** What Python counts as whitespace in strings. */
// oxlint-disable-next-line no-control-regex
const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;
// oxlint-disable-next-line no-control-regex
const LINE_ENDS = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g;
/** Where Python's `splitlines` ends a line. */
export const LINE_END = LINE_ENDS;
/** A Python identifier. */
export const IDENTIFIER = /[\p{XID_Start}_]\p{XID_Continue}*/uy;

/** Whether a character is whitespace for Python's `str.isspace`. */
export function isSpace(character: string | undefined): boolean {
  return character !== undefined && SPACE.test(character);
}

/** The text without trailing whitespace. */
export function trimEnd(text: string): string {
  let end = text.length;
  while (end > 0 && isSpace(text[end - 1])) end--;
  return text.slice(0, end);
}

/** The text without leading and trailing whitespace. */
export function trim(text: string): string {
  let start = 0;
  while (start < text.length && isSpace(text[start])) start++;
  return trimEnd(text.slice(start));
}

/**
 * Replaces the decimal digits of all scripts with ASCII's. Unicode has digits in runs of ten, never starting within
 * another run.
 */
export function asciiDigits(text: string): string {
  return text.replace(/(?![0-9])\p{Nd}/gu, (digit) => {
    let before = 0;
    const code = digit.codePointAt(0) as number;
    while (/\p{Nd}/u.test(String.fromCodePoint(code - before - 1))) before++;
    return String(before % 10);
  });
}
