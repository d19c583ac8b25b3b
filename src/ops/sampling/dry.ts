import { MAX_DRY_PENALTIES } from './sampling-row.ts';

/** Sequences of ids that interrupt a repetition: by their first id, what follows it. */
export type DryBreakers = ReadonlyMap<number, readonly (readonly number[])[]>;

/**
 * Parameters of DRY ("don't repeat yourself", by p-e-w): a token that would continue a repetition of `length` tokens at the
 * end of the text, `allowedLength` or more, loses `multiplier * base ** (length - allowedLength)` of its logit.
 */
export interface DryParameters {
  readonly multiplier: number;
  readonly base: number;
  readonly allowedLength: number;
  /** Number of latest tokens that are searched for repetitions; -1 for all. */
  readonly window: number;
  readonly breakers: DryBreakers;
}

/** The natural logarithm of the largest f32: penalties grow no further. */
const LOG_OF_LARGEST = 88.7228391;
/** A base up to this does not grow. */
const NO_GROWTH = 1.000001;

/** The penalties of the tokens that may follow `ids`, at most `MAX_DRY_PENALTIES`: the largest. */
export function dryPenalties(
  ids: readonly number[],
  { multiplier, base, allowedLength, window, breakers }: DryParameters,
): Map<number, number> {
  const count = window < 0 ? ids.length : Math.min(ids.length, window);
  if (multiplier === 0 || base < 1 || count <= allowedLength) return new Map();
  const latest = (back: number) => ids[ids.length - 1 - back] as number;
  const limit = repetitionLimit(latest, count, breakers);
  if (limit < allowedLength) return new Map();
  const repeated = repeatedTokens(latest, count, { limit, allowedLength });
  const most = base > NO_GROWTH ? Math.trunc(LOG_OF_LARGEST / Math.log(base)) : 0;
  const lengths = [...repeated].filter(([id]) => !breaksAlone(breakers, id));
  if (lengths.length > MAX_DRY_PENALTIES) {
    lengths.sort(([a, of], [b, other]) => other - of || a - b).length = MAX_DRY_PENALTIES;
  }
  return new Map(
    lengths.map(([id, length]) => {
      const over = length - allowedLength;
      return [id, multiplier * base ** (most > 0 ? Math.min(over, most) : over)];
    }),
  );
}

/** Whether a token is a breaker by itself, which is never penalized. */
function breaksAlone(breakers: DryBreakers, id: number): boolean {
  return breakers.get(id)?.some((tail) => tail.length === 0) ?? false;
}

/** The number of tokens behind the latest breaker, which no repetition reaches across; `count` if there is none. */
function repetitionLimit(latest: (back: number) => number, count: number, breakers: DryBreakers): number {
  for (let back = 0; breakers.size > 0 && back < count; back++) {
    let longest = -1;
    for (const tail of breakers.get(latest(back)) ?? []) {
      const isMatch = tail.length <= back && tail.every((id, at) => id === latest(back - at - 1));
      if (isMatch) longest = Math.max(longest, tail.length);
    }
    if (longest >= 0) return back - longest;
  }
  return count;
}

/**
 * The tokens that followed earlier occurrences of the text's end, with the length of the longest occurrence, if that is at
 * least `allowedLength`. The lengths are the Z-function of the reversed text (Gusfield 1997), in linear time.
 */
function repeatedTokens(
  latest: (back: number) => number,
  count: number,
  { limit, allowedLength }: { readonly limit: number; readonly allowedLength: number },
): Map<number, number> {
  const lengths = new Int32Array(count);
  const longest = new Map<number, number>();
  let begin = 0;
  let end = 0;
  for (let back = 1; back < count; back++) {
    let length = back < end ? Math.min(end - back, lengths[back - begin] as number) : 0;
    while (back + length < count && latest(length) === latest(back + length)) length++;
    lengths[back] = length;
    if (back + length > end) [begin, end] = [back, back + length];
    const repetition = Math.min(length, limit);
    const next = latest(back - 1);
    if (repetition < allowedLength || next < 0) continue;
    if (repetition > (longest.get(next) ?? -1)) longest.set(next, repetition);
  }
  return longest;
}
