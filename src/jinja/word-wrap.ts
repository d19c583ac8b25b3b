import { bind, stringOf } from './arguments.ts';
import { raise } from './jinja-error.ts';
import { Str, StrBuilder } from './str.ts';
import { join, splitLines } from './str-pieces.ts';
import { requireString } from './text-of.ts';
import { type Args, type Context, integerOf, truth, type Value } from './values.ts';

/**
 * Runs of whitespace, words with the hyphens at which they may be broken, and dashes, as split by Python's `textwrap`.
 * Dashes match only from the first of a run; otherwise long runs would be rescanned from each.
 */
const CHUNK =
  /[\t\n\v\f\r ]+|-{2,}(?=\w)|[^\t\n\v\f\r ]+?(?:-(?=[^\d\W][\w]|[^\d\W]-)|(?<!-)(?=-{2,}\w)|(?=[\t\n\v\f\r ]|$))/gu;
const SPACED_CHUNK = /[\t\n\v\f\r ]+|[^\t\n\v\f\r ]+/gu;

interface WrapStyle {
  readonly width: number;
  readonly breakLong: boolean;
  readonly onHyphens: boolean;
}

/** Jinja2's `wordwrap`. */
export function wordWrap(value: Value, args: Args, context: Context): Value {
  const names = ['width', 'break_long_words', 'wrapstring', 'break_on_hyphens'];
  const [width = 79n, breakLong = true, wrap = null, onHyphens = true] = bind('wordwrap', args, names);
  const most = integerOf(width);
  if (most <= 0) raise(`invalid width ${most} (must be > 0)`);
  const ending = wrap === null ? Str.written('\n') : stringOf(wrap, 'wrapstring');
  const style = { width: most, breakLong: truth(breakLong, context), onHyphens: truth(onHyphens, context) };
  const pattern = style.onHyphens ? CHUNK : SPACED_CHUNK;
  const lines = splitLines(requireString(value, 'wordwrap').marked(false), false, context);
  const wrapped = lines.map((line) => {
    const chunks = [...line.text.matchAll(pattern)].map(({ 0: text, index }) =>
      line.cut(index, index + text.length),
    );
    return join(ending, wrapChunks(chunks, style, context), context);
  });
  return join(ending, wrapped, context);
}

function isBlank(chunk: Str | undefined): boolean {
  return chunk !== undefined && chunk.text.trim() === '';
}

function wrapChunks(chunks: readonly Str[], style: WrapStyle, context: Context): Str[] {
  const { width } = style;
  const rest = [...chunks].reverse();
  const lines: Str[] = [];
  while (rest.length > 0) {
    context.budget.spend();
    if (lines.length > 0 && isBlank(rest.at(-1))) rest.pop();
    const line: Str[] = [];
    let length = 0;
    while (rest.length > 0 && length + (rest.at(-1) as Str).length <= width) {
      const chunk = rest.pop() as Str;
      line.push(chunk);
      length += chunk.length;
    }
    const next = rest.at(-1);
    if (next && next.length > width) {
      // Finding code point offsets rescans the rest of the chunk.
      context.budget.spendText(next.text.length);
      breakChunk(rest, line, width - length, style);
    }
    if (isBlank(line.at(-1))) line.pop();
    if (line.length > 0) lines.push(joinLine(line, context));
  }
  return lines;
}

/** If no space is left, an empty piece is added, which is then removed in place of whitespace before it. */
function breakChunk(rest: Str[], line: Str[], space: number, { breakLong, onHyphens }: WrapStyle): void {
  const chunk = rest.at(-1) as Str;
  if (breakLong) {
    const at = chunk.offsetOf(onHyphens ? behindHyphen(chunk, space) : space);
    line.push(chunk.cut(0, at));
    rest[rest.length - 1] = chunk.cut(at);
  } else if (line.length === 0) line.push(rest.pop() as Str);
}

function joinLine(line: readonly Str[], context: Context): Str {
  const builder = new StrBuilder(context.budget);
  for (const chunk of line) builder.add(chunk);
  return builder.done();
}

/** The length of the part that fits, up to its last hyphen if there is anything but hyphens before that. */
function behindHyphen(chunk: Str, space: number): number {
  const fitting = chunk.text.slice(0, chunk.offsetOf(space));
  const hyphen = fitting.lastIndexOf('-');
  return hyphen > 0 && /[^-]/.test(fitting.slice(0, hyphen)) ? chunk.pointAt(hyphen) + 1 : space;
}
