import type { Proposer } from './proposer.ts';

/** Number of ids by which a repetition is recognized: the more, the more certain. */
const MAX_NGRAM = 4;
const MIN_NGRAM = 2;

/**
 * Proposes what followed the last ids where they occurred before, at most `maxIds` ids (prompt lookup): texts quote
 * themselves and their prompts. Empty if the last ids are new.
 */
export function lookUp(ids: readonly number[], maxIds: number): number[] {
  for (let length = Math.min(MAX_NGRAM, ids.length - 1); length >= MIN_NGRAM; length--) {
    const at = lastRepetition(ids, length);
    if (at >= 0) return ids.slice(at + length, at + length + maxIds);
  }
  return [];
}

/** The most recent earlier position of the last `length` ids, or -1. */
function lastRepetition(ids: readonly number[], length: number): number {
  const end = ids.length - length;
  for (let at = end - 1; at >= 0; at--) {
    let same = 0;
    while (same < length && ids[at + same] === ids[end + same]) same++;
    if (same === length) return at;
  }
  return -1;
}

/** Proposes what `lookUp` finds. */
export const PROMPT_LOOKUP: Proposer = {
  follow: ({ ids }) => ({ isFree: true, propose: (maxIds) => lookUp(ids, maxIds), leave: () => {} }),
};
