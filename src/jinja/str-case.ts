import type { Budget } from './budget.ts';
import { mapPoints, Str } from './str.ts';

const CASED = /\p{Lowercase}|\p{Uppercase}|\p{Lt}/u;

/** Maps the whole text if no character becomes several, which would move the template's spans. */
function mapped(str: Str, whole: string, point: (point: string) => string, budget: Budget): Str {
  budget.spendText(whole.length);
  if (whole.length === str.text.length) return new Str(whole, str.written, str.safe);
  return mapPoints(str, point, budget);
}

/** Python's `upper`. */
export function upper(str: Str, budget: Budget): Str {
  return mapped(str, str.text.toUpperCase(), (point) => point.toUpperCase(), budget);
}

/** Python's `lower`. */
export function lower(str: Str, budget: Budget): Str {
  return mapped(str, str.text.toLowerCase(), lowering(str.text), budget);
}

/** Maps the code points of a text to lower case one by one: a sigma at the end of a word has its own form. */
function lowering(text: string): (point: string) => string {
  const whole = text.toLowerCase();
  let at = 0;
  return (point) => {
    const small = point === 'Σ' ? (whole[at] as string) : point.toLowerCase();
    at += point.toLowerCase().length;
    return small;
  };
}

function titlePoint(point: string): string {
  const [first = '', second = '', ...rest] = point.toUpperCase();
  // If there are several characters, only the first letter is upper case: "Ss", "ʼN".
  const head = /\p{Lu}/u.test(first) ? first + second.toLowerCase() : first + second;
  return head + rest.join('').toLowerCase();
}

/** Python's `str.title`: the first letter of each word in upper case, the others in lower case. */
export function title(str: Str, budget: Budget): Str {
  let inWord = false;
  const small = lowering(str.text);
  return mapPoints(
    str,
    (point) => {
      const lowered = small(point);
      const changed = inWord ? lowered : titlePoint(point);
      inWord = CASED.test(point);
      return changed;
    },
    budget,
  );
}

/** Python's `str.capitalize`: the first character in upper case, the others in lower case. */
export function capitalize(str: Str, budget: Budget): Str {
  let first = true;
  const small = lowering(str.text);
  return mapPoints(
    str,
    (point) => {
      const lowered = small(point);
      const changed = first ? titlePoint(point) : lowered;
      first = false;
      return changed;
    },
    budget,
  );
}

/** Python's `str.casefold`: texts that differ only in case become equal. */
export function caseFold(str: Str, budget: Budget): Str {
  // Mapping to upper and back to lower case removes other forms; only the dotless i would become a different letter.
  const fold = (point: string) => point.toLowerCase().toUpperCase().toLowerCase();
  return mapPoints(str, (point) => (point === 'ı' ? point : fold(point)), budget);
}

/** Python's `str.swapcase`. */
export function swapCase(str: Str, budget: Budget): Str {
  const small = lowering(str.text);
  return mapPoints(
    str,
    (point) => {
      const lowered = small(point);
      return /\p{Uppercase}/u.test(point) ? lowered : point.toUpperCase();
    },
    budget,
  );
}

/** Whether there is a cased character and all of them have the given case. */
export function isAllOf(text: string, wanted: 'upper' | 'lower'): boolean {
  const [good, bad] =
    wanted === 'upper'
      ? [/\p{Uppercase}/u, /[\p{Lowercase}\p{Lt}]/u]
      : [/\p{Lowercase}/u, /[\p{Uppercase}\p{Lt}]/u];
  return good.test(text) && !bad.test(text);
}

/** Python's `str.istitle`. */
export function isTitle(text: string): boolean {
  let inWord = false;
  let found = false;
  for (const point of text) {
    if (/[\p{Uppercase}\p{Lt}]/u.test(point)) {
      if (inWord) return false;
      found = true;
    } else if (/\p{Lowercase}/u.test(point) && !inWord) return false;
    inWord = CASED.test(point);
  }
  return found;
}
