/** Characters that are shown of a text of the other side. */
const SHOWN = 200;

/** A text of another process for people to read: short, on one line, and nothing in it is an order to a terminal. */
export function foreignText(text: string): string {
  return text.slice(0, SHOWN).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
}
