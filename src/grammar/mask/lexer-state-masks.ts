import type { Lexer } from '../parser/lexer.ts';
import { DEAD } from '../parser/lexer.ts';
import type { PreparedVocabulary } from './prepared-vocabulary.ts';
import { setBit } from './prepared-vocabulary.ts';
import { LONG_CHARACTERS, MAX_CHARACTERS, SAFE_BYTES } from './safe-text.ts';
import type { TokenTrie } from './token-trie.ts';

/** Tokens at whose end, or within which, the same terminals may end. */
export interface EndingTokens {
  /** The lexer's set of terminals that end. */
  readonly ending: number;
  /** Nodes whose tokens end together with the terminals, and are otherwise not allowed. */
  readonly ends: readonly number[];
  /** Nodes of the trie where the terminals may end and below which some tokens are not otherwise allowed. */
  readonly nodes: readonly number[];
}

/** What a lexer state allows by itself: tokens after which a terminal is still unfinished. */
export interface LexerStateMask {
  /** The mask to start with. It is shared and must not be changed. */
  readonly base: Int32Array | undefined;
  /** Tokens to allow in addition, and then tokens to forbid. */
  readonly plus: readonly number[];
  readonly minus: readonly number[];
  readonly endings: readonly EndingTokens[];
  /** The trie that the nodes belong to. */
  readonly trie: TokenTrie;
  /** True when a terminal may end within safe text. */
  readonly endsInSafeText: boolean;
}

/** Not all characters lead to the same state. */
const DIFFERENT = -2;
/** The cache holds about this many integers at most. */
const MAX_KEPT = 4 * 2 ** 20;

/**
 * Masks by lexer state, independent of the row. The trie of all tokens is walked only when necessary: for a state that
 * allows safe text up to some length, or none, only the other tokens are walked; for a state that differs from another
 * only by exclusions (names already used), only the differences.
 */
export class LexerStateMasks {
  readonly #lexer: Lexer;
  readonly #vocabulary: PreparedVocabulary;
  readonly #known = new Map<number, LexerStateMask>();
  readonly #afterSafe = new Map<number, number>();
  readonly #states: Int32Array;
  readonly #others: Int32Array;
  #kept = 0;

  constructor(lexer: Lexer, vocabulary: PreparedVocabulary) {
    this.#lexer = lexer;
    this.#vocabulary = vocabulary;
    this.#states = new Int32Array(vocabulary.all.deepest + 1);
    this.#others = new Int32Array(vocabulary.all.deepest + 1);
  }

  of(state: number): LexerStateMask {
    const known = this.#known.get(state);
    if (known) return known;
    const inside = this.#compute(state);
    if (this.#kept > MAX_KEPT) {
      this.#known.clear();
      this.#afterSafe.clear();
      this.#kept = 0;
    }
    this.#known.set(state, inside);
    this.#kept += costOf(inside, this.#vocabulary.words);
    return inside;
  }

  #compute(state: number): LexerStateMask {
    const plain = this.#lexer.withoutComplements(state);
    if (plain !== state) {
      const inside = this.of(plain);
      if (!inside.endsInSafeText) return this.#differing(state, plain, inside);
    }
    const { all, rest, safeUpTo } = this.#vocabulary;
    const { length, hasEnding } = this.#safeRun(state);
    const isSafeKnown = length === MAX_CHARACTERS || (length >= 0 && !hasEnding);
    const walk = new Walk(this.#vocabulary.words, isSafeKnown ? rest : all);
    this.#walk(state, walk);
    const base = isSafeKnown && length > 0 ? safeUpTo[length] : undefined;
    return walk.inside(base, isSafeKnown && hasEnding);
  }

  /** How many safe characters may follow, regardless of which; negative when that depends on the characters. */
  #safeRun(state: number): { length: number; hasEnding: boolean } {
    let hasEnding = false;
    let at = state;
    for (let length = 0; length < MAX_CHARACTERS; length++) {
      const next = this.#behindSafe(at);
      if (next === DIFFERENT) return { length: -1, hasEnding: true };
      if (next === DEAD) return { length, hasEnding };
      hasEnding ||= this.#lexer.ending(next) !== 0;
      if (next === at) break;
      if (!this.#lexer.canContinue(next)) return { length: -1, hasEnding: true };
      at = next;
    }
    return { length: MAX_CHARACTERS, hasEnding };
  }

  #behindSafe(state: number): number {
    let next = this.#afterSafe.get(state);
    if (next === undefined) {
      next = this.#findBehindSafe(state);
      this.#afterSafe.set(state, next);
    }
    return next;
  }

  #findBehindSafe(state: number): number {
    const next = this.#lexer.step(state, SAFE_BYTES[0] as number);
    for (const byte of SAFE_BYTES) if (this.#lexer.step(state, byte) !== next) return DIFFERENT;
    for (const ranges of LONG_CHARACTERS) {
      let at = state;
      for (const [first, last] of ranges) {
        if (at === DEAD) break;
        const behind = this.#lexer.step(at, first);
        for (let byte = first + 1; byte <= last; byte++) {
          if (this.#lexer.step(at, byte) !== behind) return DIFFERENT;
        }
        at = behind;
      }
      if (at !== next) return DIFFERENT;
    }
    return next;
  }

  #walk(state: number, walk: Walk): void {
    const { bytes, depths, ends } = walk.trie;
    const states = this.#states;
    const lexer = this.#lexer;
    states[0] = state;
    for (let node = 1; node < bytes.length;) {
      walk.leave(node);
      const depth = depths[node] as number;
      const next = lexer.step(states[depth - 1] as number, bytes[node] as number);
      if (next === DEAD) {
        node = ends[node] as number;
        continue;
      }
      states[depth] = next;
      const canContinue = lexer.canContinue(next);
      walk.take(node, canContinue, lexer.ending(next));
      node = canContinue ? node + 1 : (ends[node] as number);
    }
    walk.leave(bytes.length);
  }

  /** What another state allows, minus what this one does not. */
  #differing(state: number, plain: number, base: LexerStateMask): LexerStateMask {
    const walk = new Walk(this.#vocabulary.words, base.trie);
    const seen = new Set<number>();
    const minus: number[] = [];
    for (const trie of base.trie === this.#vocabulary.all
      ? [base.trie]
      : [base.trie, this.#vocabulary.safe]) {
      this.#compare(state, plain, trie, (node, next, other) => {
        const isAllowed = next !== DEAD && this.#lexer.canContinue(next);
        if (this.#lexer.canContinue(other) && !isAllowed) {
          const last = trie.firstTokens[node + 1] as number;
          for (let i = trie.firstTokens[node] as number; i < last; i++) minus.push(trie.tokens[i] as number);
        }
        if (trie !== base.trie) return;
        seen.add(node);
        if (next !== DEAD) walk.takeEnding(node, isAllowed, this.#lexer.ending(next));
      });
    }
    const own = walk.inside(undefined, false).endings;
    const kept = base.endings.map(({ ending, ends, nodes }) => ({
      ending,
      ends: ends.filter((node) => !seen.has(node)),
      nodes: nodes.filter((node) => !seen.has(node)),
    }));
    return { ...base, minus: [...base.minus, ...minus], endings: [...kept, ...own] };
  }

  /** Reports every node where two states differ; the first allows a subset of the second. */
  #compare(
    state: number,
    plain: number,
    { bytes, depths, ends }: TokenTrie,
    tell: (node: number, next: number, other: number) => void,
  ): void {
    const states = this.#states;
    const others = this.#others;
    states[0] = state;
    others[0] = plain;
    for (let node = 1; node < bytes.length;) {
      const depth = depths[node] as number;
      const byte = bytes[node] as number;
      const before = states[depth - 1] as number;
      const next = before === DEAD ? DEAD : this.#lexer.step(before, byte);
      const other = this.#lexer.step(others[depth - 1] as number, byte);
      if (next === other) {
        node = ends[node] as number;
        continue;
      }
      states[depth] = next;
      others[depth] = other;
      tell(node, next, other);
      node = this.#lexer.canContinue(other) ? node + 1 : (ends[node] as number);
    }
  }
}

/** Collects the results of a walk through a trie. */
class Walk {
  readonly trie: TokenTrie;
  readonly #words: number;
  readonly #allowed: number[] = [];
  readonly #endings = new Map<number, { ends: number[]; nodes: number[] }>();
  /** Nodes with an ending whose subtree is still being walked: node, ending, tokens allowed so far. */
  readonly #open: number[] = [];

  constructor(words: number, trie: TokenTrie) {
    this.#words = words;
    this.trie = trie;
  }

  take(node: number, canContinue: boolean, ending: number): void {
    const { firstTokens, tokens, ends } = this.trie;
    if (canContinue) {
      const last = firstTokens[node + 1] as number;
      for (let i = firstTokens[node] as number; i < last; i++) this.#allowed.push(tokens[i] as number);
    }
    if (ending === 0) return;
    if (!canContinue) this.takeEnding(node, canContinue, ending);
    else if ((ends[node] as number) > node + 1) this.#open.push(node, ending, this.#allowed.length);
  }

  /** An ending regardless of what is allowed below it. */
  takeEnding(node: number, canContinue: boolean, ending: number): void {
    if (ending === 0) return;
    const group = this.#endings.get(ending) ?? { ends: [], nodes: [] };
    this.#endings.set(ending, group);
    if (!canContinue && this.trie.hasToken(node)) group.ends.push(node);
    if ((this.trie.ends[node] as number) > node + 1) group.nodes.push(node);
  }

  /**
   * Closes the endings whose subtree does not contain the node. One is dropped when all tokens below it are allowed
   * anyway.
   */
  leave(node: number): void {
    const { ends, firstTokens } = this.trie;
    for (let top = this.#open.length - 3; top >= 0; top = this.#open.length - 3) {
      const from = this.#open[top] as number;
      const end = ends[from] as number;
      if (end > node) return;
      const [, ending = 0, before = 0] = this.#open.splice(top);
      const under = (firstTokens[end] as number) - (firstTokens[from + 1] as number);
      if (this.#allowed.length - before < under) this.takeEnding(from, true, ending);
    }
  }

  /** The result; with many tokens, as a mask. */
  inside(base: Int32Array | undefined, endsInSafeText: boolean): LexerStateMask {
    const endings = [...this.#endings].map(([ending, group]) => ({ ending, ...group }));
    const shared = { minus: [], endings, trie: this.trie, endsInSafeText };
    if (this.#allowed.length < this.#words) return { ...shared, base, plus: this.#allowed };
    const mask = base?.slice() ?? new Int32Array(this.#words);
    for (const id of this.#allowed) setBit(mask, id);
    return { ...shared, base: mask, plus: [] };
  }
}

function costOf({ base, plus, minus, endings }: LexerStateMask, words: number): number {
  const ended = endings.reduce((sum, { ends, nodes }) => sum + ends.length + nodes.length, 0);
  return (base === undefined ? 0 : words) + plus.length + minus.length + ended + 64;
}
