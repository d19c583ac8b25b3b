import type { BitField, BlockLayout, BlockNumber, GridLevels, TernaryDigits } from '../../formats/index.ts';
import type { ScaleKind } from './packed-groups.ts';

/** The syntax of a kernel language for reading blocks. Integers are unsigned with 32 bits. */
export interface KernelLanguage {
  literal(value: number): string;
  /** So many bits, little-endian, from byte `at` of the block. */
  load(bits: 8 | 16 | 32, at: string): string;
  choose(condition: string, yes: string, no: string): string;
  /** The ternary digit with this index in a byte (see `TernaryDigits`). */
  digit(byte: string, number: string): string;
  /** The element's index in the block. */
  readonly element: string;
}

/** A field of the element as an expression. */
function fieldText({ at, bits, steps }: BitField, language: KernelLanguage): string {
  const isByte = (step: number) => step % 8 === 0;
  const shifts = steps.map((step) => (isByte(step) ? 0 : step));
  const most = shifts.reduce((sum, step) => sum + step, (at % 8) + bits);
  const size = most <= 8 ? 8 : most <= 16 ? 16 : 32;
  const place = linearText(
    Math.floor(at / 8),
    steps.map((step) => (isByte(step) ? step / 8 : 0)),
    language,
  );
  const shift = linearText(at % 8, shifts, language);
  const loaded = language.load(size, place);
  const moved = shift === language.literal(0) ? loaded : `(${loaded} >> ${parenthesized(shift)})`;
  return bits === size ? moved : `(${moved} & ${language.literal(2 ** bits - 1)})`;
}

/** `first` plus the steps of the element index's bits; adjacent bits whose steps double become one term. */
function linearText(first: number, steps: readonly number[], { literal, element }: KernelLanguage): string {
  const terms: string[] = first === 0 ? [] : [literal(first)];
  for (let k = 0; k < steps.length;) {
    const step = steps[k] as number;
    let end = k + 1;
    while (end < steps.length && steps[end] === step * 2 ** (end - k)) end++;
    if (step === 0) {
      k++;
      continue;
    }
    const bits = k === 0 ? element : `(${element} >> ${literal(k)})`;
    const run = `(${bits} & ${literal(2 ** (end - k) - 1)})`;
    terms.push(step === 1 ? run : `${run} * ${literal(step)}`);
    k = end;
  }
  return terms.length === 0 ? literal(0) : terms.join(' + ');
}

function parenthesized(text: string): string {
  return /[ ]/.test(text) ? `(${text})` : text;
}

function fieldsText(fields: readonly BitField[], language: KernelLanguage): string {
  let shift = 0;
  const texts = fields.map((field) => {
    const text = fieldText(field, language);
    const placed = shift === 0 ? text : `(${text} << ${language.literal(shift)})`;
    shift += field.bits;
    return placed;
  });
  return texts.length === 1 ? (texts[0] as string) : `(${texts.join(' | ')})`;
}

/** A number of the element of the block as an expression. */
export function numberText(number: BlockNumber, language: KernelLanguage): string {
  if (!('bit' in number)) return fieldsText(number, language);
  const { literal, choose, element } = language;
  const condition = `((${element} >> ${literal(number.bit)}) & ${literal(1)}) != ${literal(0)}`;
  return choose(condition, fieldsText(number.set, language), fieldsText(number.clear, language));
}

/** The code of the element. */
export function codeText(code: BlockNumber | TernaryDigits, language: KernelLanguage): string {
  return 'runs' in code ? digitsText(code, language) : numberText(code, language);
}

function digitsText({ runs }: TernaryDigits, language: KernelLanguage): string {
  const { literal, load, choose, digit, element } = language;
  let first = 0;
  const texts = runs.map(({ start, bytes, digits }) => {
    const own = first === 0 ? element : `(${element} - ${literal(first)})`;
    first += bytes * digits;
    const byte = load(8, `${literal(start)} + ${own} % ${literal(bytes)}`);
    return { text: digit(byte, `${own} / ${literal(bytes)}`), end: first };
  });
  return texts.reduceRight(
    (rest, { text, end }) => (rest === '' ? text : choose(`${element} < ${literal(end)}`, text, rest)),
    '',
  );
}

/** The signs of the eight elements around `e`, one bit each; or the bit that says how its run's levels are shifted. */
export function changeText({ change }: GridLevels, language: KernelLanguage): string {
  return numberText(change.kind === 'signs' ? change.signs : change.down, language);
}

/**
 * What the planes store of a group's scales: its own bits, where `e` is the group's first element, and the shared ones.
 */
export function scaleTexts(
  kind: ScaleKind,
  { scale, min }: BlockLayout,
  language: KernelLanguage,
): { readonly own: string; readonly shared?: string } {
  const { literal } = language;
  const later = { ...language, element: `(${language.element} + ${literal(16)})` };
  const number = numberText(scale.number, language);
  const join = (low: string, high: string, bits: number) => `(${low} | (${high} << ${literal(bits)}))`;
  const least = min && numberText(min.number, language);
  if (kind === 'small-floats') return { own: join(number, numberText(scale.number, later), 8) };
  if (!scale.sub) return { own: least ? join(number, least, 16) : number };
  const [first, last] = [subText(scale.sub, language), subText(scale.sub, later)];
  if (!min?.sub || !least) return { own: join(first, last, kind === 'odd-nibbles' ? 4 : 8), shared: number };
  const [firstMin, lastMin] = [numberText(min.sub, language), numberText(min.sub, later)];
  const shared = join(number, least, 16);
  if (kind === 'byte-pair') return { own: join(first, firstMin, 8), shared };
  return { own: join(join(first, firstMin, 4), join(last, lastMin, 4), 8), shared };
}

/** A byte of a signed number, or the number itself. */
function subText({ number, as }: NonNullable<BlockLayout['scale']['sub']>, language: KernelLanguage): string {
  const text = numberText(number, language);
  if (typeof as === 'string' || as.less === 0) return text;
  return `((${text} - ${language.literal(as.less)}) & ${language.literal(255)})`;
}
