import { TrustedText } from '../jinja/index.ts';

/** Text for a template: from outside, or with spans that count as the template's own. */
export type TemplateText = string | TrustedText;

/** The characters of the text. */
export function plainText(text: TemplateText): string {
  return typeof text === 'string' ? text : text.text;
}

/** Concatenates texts. Spans that count as the template's own are kept. */
export function joinTexts(pieces: readonly TemplateText[], separator = ''): TemplateText {
  if (pieces.every((piece) => typeof piece === 'string')) return pieces.join(separator);
  const written: number[] = [];
  let text = '';
  for (const [i, piece] of pieces.entries()) {
    if (i > 0) text += separator;
    if (typeof piece !== 'string') written.push(...piece.written.map((at) => at + text.length));
    text += plainText(piece);
  }
  return new TrustedText(text, withoutTouching(written));
}

/** Merges adjacent spans. */
function withoutTouching(spans: readonly number[]): number[] {
  const joined: number[] = [];
  for (const at of spans) {
    if (joined.length > 0 && joined.length % 2 === 0 && joined.at(-1) === at) joined.pop();
    else joined.push(at);
  }
  return joined;
}
