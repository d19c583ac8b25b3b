import { syntaxError } from './jinja-error.ts';

const SIMPLE: Readonly<Record<string, string>> = {
  '\n': '',
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};
const ESCAPE = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{1,3})|([^]))/g;

/** The value of a string literal without its quotes, decoded like Python's `unicode-escape`. Throws `JinjaError`. */
export function unescapeLiteral(body: string, line: number): string {
  if (!body.includes('\\')) return body;
  return body.replace(ESCAPE, (whole, ...groups: (string | undefined)[]) => {
    const [byte, unit, point, octal, other] = groups;
    if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8));
    const code = byte ?? unit ?? point;
    if (code !== undefined) {
      const value = Number.parseInt(code, 16);
      if (value > 0x10ffff) syntaxError('illegal Unicode character', line);
      return String.fromCodePoint(value);
    }
    if (other === 'x' || other === 'u' || other === 'U') syntaxError(`truncated \\${other} escape`, line);
    if (other === 'N') syntaxError('character names in strings (\\N) are not supported', line);
    return SIMPLE[other as string] ?? whole;
  });
}
