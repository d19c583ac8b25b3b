import { fail } from '../base/errors.ts';
import type { TokenConstraint } from '../text/index.ts';
import type { GenerateOptions } from './generate-options.ts';

/** Restrictions on a text's tokens, in addition to its form. Can be sent to another thread. */
export interface TokenRules {
  /** Minimum number of tokens before the text may end. */
  readonly minTokens: number;
  /** The only ids allowed, besides those that end the text; undefined for all. */
  readonly allowed: readonly number[] | undefined;
  /** Sequences of ids that must not occur. */
  readonly banned: readonly (readonly number[])[];
}

/** The rules that the options ask for; undefined for none. Throws `INVALID_ARGUMENT` for ids outside the vocabulary. */
export function tokenRulesOf(options: GenerateOptions, vocabulary: number): TokenRules | undefined {
  const { minTokens = 0, allowedTokens: allowed, bannedTokens: banned = [] } = options;
  if (!Number.isSafeInteger(minTokens) || minTokens < 0) {
    fail('INVALID_ARGUMENT', {
      name: 'minTokens',
      found: `${minTokens}`,
      expected: 'a whole number of tokens',
    });
  }
  if (minTokens > Math.max(0, options.maxTokens ?? Number.POSITIVE_INFINITY)) {
    const expected = `at most maxTokens, ${options.maxTokens}`;
    fail('INVALID_ARGUMENT', { name: 'minTokens', found: `${minTokens}`, expected });
  }
  checkTokens('stopTokens', options.stopTokens ?? [], vocabulary);
  checkTokens('logitBias', options.logitBias?.keys() ?? [], vocabulary);
  if (allowed) {
    checkTokens('allowedTokens', allowed, vocabulary);
    if (allowed.length === 0) {
      fail('INVALID_ARGUMENT', { name: 'allowedTokens', found: 'none', expected: 'at least one token' });
    }
  }
  for (const stretch of banned) {
    checkTokens('bannedTokens', stretch, vocabulary);
    if (stretch.length === 0) {
      fail('INVALID_ARGUMENT', { name: 'bannedTokens', found: 'none', expected: 'at least one token each' });
    }
  }
  return minTokens > 0 || allowed || banned.length > 0 ? { minTokens, allowed, banned } : undefined;
}

function checkTokens(name: string, ids: Iterable<number>, vocabulary: number): void {
  for (const id of ids) {
    if (Number.isInteger(id) && id >= 0 && id < vocabulary) continue;
    fail('INVALID_ARGUMENT', { name, found: `token ${id}`, expected: `ids from 0 to ${vocabulary - 1}` });
  }
}

/** Applies rules on top of another constraint, which the caller owns. */
export class RuledTokens implements TokenConstraint {
  readonly #rules: TokenRules;
  readonly #ends: ReadonlySet<number>;
  readonly #inner: TokenConstraint | undefined;
  /** The allowed ids as a bit mask, including end tokens. */
  readonly #allowed: Int32Array | undefined;
  /** The latest ids, one fewer than the longest banned sequence has. */
  readonly #latest: number[] = [];
  readonly #longest: number;
  #count = 0;

  constructor(
    rules: TokenRules,
    of: {
      readonly ends: ReadonlySet<number>;
      readonly words: number;
      readonly inner: TokenConstraint | undefined;
    },
  ) {
    this.#rules = rules;
    this.#ends = of.ends;
    this.#inner = of.inner;
    this.#longest = Math.max(0, ...rules.banned.map(({ length }) => length - 1));
    if (!rules.allowed) return;
    this.#allowed = new Int32Array(of.words);
    for (const ids of [rules.allowed, of.ends]) for (const id of ids) permit(this.#allowed, id);
  }

  async fill(mask: Int32Array): Promise<void> {
    if (this.#inner) await this.#inner.fill(mask);
    else mask.fill(-1);
    if (this.#allowed) {
      for (let i = 0; i < mask.length; i++) mask[i] = (mask[i] as number) & (this.#allowed[i] as number);
    }
    for (const stretch of this.#rules.banned) {
      if (this.#isDue(stretch)) forbid(mask, stretch.at(-1) as number);
    }
    if (this.#count < this.#rules.minTokens) this.#goOn(mask);
  }

  accept(id: number): void {
    this.#inner?.accept(id);
    this.#count++;
    this.#latest.push(id);
    if (this.#latest.length > this.#longest) this.#latest.shift();
  }

  get isComplete(): boolean {
    return this.#inner?.isComplete ?? false;
  }

  get isFixed(): boolean {
    const { minTokens, banned } = this.#rules;
    return !this.#inner && minTokens === 0 && banned.every(({ length }) => length === 1);
  }

  [Symbol.dispose](): void {
    // The caller disposes the wrapped constraint.
  }

  /** Forbids the end tokens, unless the text already has its form and could only end. */
  #goOn(mask: Int32Array): void {
    const ends = [...this.#ends].filter((id) => ((mask[id >> 5] as number) >>> (id & 31)) & 1);
    for (const id of ends) forbid(mask, id);
    if (this.#inner && mask.every((word) => word === 0)) for (const id of ends) permit(mask, id);
  }

  /** Whether all but the last id of a banned sequence have come. */
  #isDue(stretch: readonly number[]): boolean {
    const before = stretch.length - 1;
    const from = this.#latest.length - before;
    if (from < 0) return false;
    for (let i = 0; i < before; i++) if (this.#latest[from + i] !== stretch[i]) return false;
    return true;
  }
}

function permit(mask: Int32Array, id: number): void {
  mask[id >> 5] = (mask[id >> 5] as number) | (1 << (id & 31));
}

function forbid(mask: Int32Array, id: number): void {
  mask[id >> 5] = (mask[id >> 5] as number) & ~(1 << (id & 31));
}
