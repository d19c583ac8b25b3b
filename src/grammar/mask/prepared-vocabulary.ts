import type { GrammarVocabulary } from '../vocabulary.ts';
import { MAX_CHARACTERS, safeLength } from './safe-text.ts';
import { TokenTrie } from './token-trie.ts';

/**
 * A vocabulary prepared for computing masks, created once and shared by all grammars. Tokens that are plain text, whole
 * characters that represent themselves in a JSON string, are kept separately: most states allow either all of them up
 * to a length or none (llguidance's slices), and then only the other tokens are walked.
 */
export class PreparedVocabulary {
  readonly vocabulary: GrammarVocabulary;
  /** Words of a mask. */
  readonly words: number;
  /** All tokens with text. */
  readonly all: TokenTrie;
  /** Those that are plain text, and the others. */
  readonly safe: TokenTrie;
  readonly rest: TokenTrie;
  /** By number of characters: the mask of the safe tokens with at most as many. */
  readonly safeUpTo: readonly Int32Array[];
  readonly #special = new Map<string, number>();

  constructor(vocabulary: GrammarVocabulary) {
    this.vocabulary = vocabulary;
    this.words = Math.ceil(vocabulary.size / 32);
    const safe: number[] = [];
    const rest: number[] = [];
    const byLength: number[][] = Array.from({ length: MAX_CHARACTERS + 1 }, () => []);
    const decoder = new TextDecoder();
    for (let id = 0; id < vocabulary.size; id++) {
      const kind = vocabulary.kind(id);
      if (kind === 'control' || kind === 'user-defined') {
        const spelling = decoder.decode(vocabulary.bytes(id));
        if (!this.#special.has(spelling)) this.#special.set(spelling, id);
      }
      if (kind === 'control' || kind === 'unused') continue;
      const length = safeLength(vocabulary.bytes(id));
      (length === undefined ? rest : safe).push(id);
      if (length !== undefined) byLength[length]?.push(id);
    }
    this.safe = new TokenTrie(vocabulary, safe);
    this.rest = new TokenTrie(vocabulary, rest);
    this.all = new TokenTrie(vocabulary, [...safe, ...rest]);
    const mask = new Int32Array(this.words);
    this.safeUpTo = byLength.map((ids) => {
      for (const id of ids) setBit(mask, id);
      return mask.slice();
    });
  }

  /** Number of ids. */
  get size(): number {
    return this.vocabulary.size;
  }

  /** True for a token with text. */
  isText(id: number): boolean {
    const kind = this.vocabulary.kind(id);
    return (kind === 'text' || kind === 'user-defined') && !this.vocabulary.endOfGeneration.has(id);
  }

  /** The special token with this spelling. */
  specialToken(text: string): number | undefined {
    return this.#special.get(text);
  }
}

/** Allows a token. */
export function setBit(mask: Int32Array, id: number): void {
  mask[id >>> 5] = (mask[id >>> 5] as number) | (1 << (id & 31));
}

/** Forbids a token. */
export function clearBit(mask: Int32Array, id: number): void {
  mask[id >>> 5] = (mask[id >>> 5] as number) & ~(1 << (id & 31));
}
