import { fail } from '../base/errors.ts';
import type { Steps } from '../base/turns.ts';
import type { DryBreakers } from '../ops/sampling/dry.ts';
import type { Tokenizer } from './tokenizer.ts';
import { utf8Bytes } from './utf8.ts';

/** Maximum breakers of a text. */
const MAX_BREAKERS = 64;
/** Maximum bytes of a breaker. */
const MAX_BREAKER_BYTES = 40;
/** Maximum ids of a breaker behind the first. */
const MAX_TAIL = 20;
/** Tokens examined between two pauses. */
const AT_ONCE = 1024;

const SPACE = 0x20;

/** Throws `INVALID_ARGUMENT` for too many breakers, and for empty and long ones. */
export function checkDryBreakers(texts: readonly string[]): void {
  const name = 'drySequenceBreakers';
  if (texts.length > MAX_BREAKERS) {
    fail('INVALID_ARGUMENT', { name, found: `${texts.length} texts`, expected: `at most ${MAX_BREAKERS}` });
  }
  const other = texts.find((text) => text === '' || utf8Bytes(text).length > MAX_BREAKER_BYTES);
  if (other === undefined) return;
  const expected = `texts of 1 to ${MAX_BREAKER_BYTES} bytes`;
  fail('INVALID_ARGUMENT', { name, found: JSON.stringify(other), expected });
}

/**
 * The ids of DRY's breakers, as they may be tokenized: every token that contains a breaker, and every token at whose end one
 * begins, with the ids of the rest.
 */
export function* dryBreakers(tokenizer: Tokenizer, texts: readonly string[]): Steps<DryBreakers> {
  const breakers = new Map<number, (readonly number[])[]>();
  const needles = texts.map((text) => ({ bytes: utf8Bytes(text), tails: new Map<number, number[]>() }));
  for (let id = 0; id < tokenizer.vocabularySize; id++) {
    if (id % AT_ONCE === AT_ONCE - 1) yield;
    const all = tokenizer.tokenBytes(id);
    const word = tokenizer.marksTextStart && all[0] === SPACE ? all.subarray(1) : all;
    const found: (readonly number[])[] = [];
    for (const { bytes, tails } of needles) {
      for (const matched of matches(word, bytes)) {
        let tail = tails.get(matched);
        if (!tail) {
          tail = tailOf(tokenizer, bytes.subarray(matched));
          tails.set(matched, tail);
        }
        const known = tail;
        if (!found.some((other) => isSame(other, known))) found.push(known);
      }
    }
    if (found.length > 0) breakers.set(id, found);
  }
  return breakers;
}

/** The ids of the rest of a breaker. */
function tailOf(tokenizer: Tokenizer, rest: Uint8Array): number[] {
  if (rest.length === 0) return [];
  return tokenizer.encode(new TextDecoder().decode(rest), { addSpecial: false }).slice(0, MAX_TAIL);
}

/** How many bytes of the breaker a word has: all if it contains it, otherwise each number with which the word ends. */
function matches(word: Uint8Array, breaker: Uint8Array): number[] {
  const ends: number[] = [];
  const first = breaker[0] as number;
  for (let at = word.indexOf(first); at >= 0; at = word.indexOf(first, at + 1)) {
    const length = Math.min(breaker.length, word.length - at);
    let same = 1;
    while (same < length && word[at + same] === breaker[same]) same++;
    if (same < length) continue;
    if (length === breaker.length) return [length];
    ends.push(length);
  }
  return ends;
}

function isSame(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((id, at) => id === b[at]);
}
