import {
  type Grammar,
  type GrammarMatcher,
  type GrammarVocabulary,
  PreparedVocabulary,
  TokenGrammar,
} from '../../../src/grammar/index.ts';

/** One token of a walk. */
export interface WalkToken {
  readonly text: string;
  readonly isControl: boolean;
}

const END = 0;

/** Tokens of single bytes, of these pieces, and control tokens; token 0 ends the text. */
export class WalkVocabulary implements GrammarVocabulary {
  readonly endOfGeneration = new Set([END]);
  readonly #tokens: { readonly bytes: Uint8Array; readonly isControl: boolean; readonly text: string }[] = [];
  readonly pieces: number[] = [];
  readonly letters: number[] = [];

  constructor(pieces: readonly string[], controls: readonly string[]) {
    this.#add('<end>', true);
    for (const text of controls) this.pieces.push(this.#add(text, true));
    for (const text of pieces) this.pieces.push(this.#add(text, false));
    for (let code = 0x20; code < 0x7f; code++) this.letters.push(this.#add(String.fromCharCode(code), false));
    for (const text of ['\n', 'é', '漢', '😀']) this.letters.push(this.#add(text, false));
  }

  get size(): number {
    return this.#tokens.length;
  }

  kind(id: number): 'text' | 'control' {
    return this.#tokens[id]?.isControl ? 'control' : 'text';
  }

  bytes(id: number): Uint8Array {
    return this.#tokens[id]?.bytes ?? new Uint8Array(0);
  }

  token(id: number): WalkToken {
    return this.#tokens[id] as WalkToken;
  }

  #add(text: string, isControl: boolean): number {
    const id = this.#tokens.length;
    this.#tokens.push({ text, isControl, bytes: new TextEncoder().encode(text) });
    return id;
  }
}

/** Prepares grammars for random walks, with a source of numbers from 0 to 1. */
export class GuidedWalk {
  readonly #vocabulary: WalkVocabulary;
  readonly #grammar: TokenGrammar;
  readonly #random: () => number;

  constructor(grammar: Grammar, vocabulary: WalkVocabulary, random: () => number) {
    this.#vocabulary = vocabulary;
    this.#random = random;
    this.#grammar = new TokenGrammar(grammar, new PreparedVocabulary(vocabulary));
  }

  /**
   * The tokens of a random text, preferring pieces over single letters, and ending where that is allowed; undefined if
   * it does not end within `most` tokens.
   */
  walk(most: number): WalkToken[] | undefined {
    const matcher = this.#grammar.matcher();
    const tokens: WalkToken[] = [];
    while (tokens.length < most) {
      if (matcher.canEnd && (matcher.isComplete || this.#random() < 0.4)) return tokens;
      const id = this.#step(matcher);
      if (id === undefined) return matcher.canEnd ? tokens : undefined;
      tokens.push(this.#vocabulary.token(id));
    }
    return undefined;
  }

  #step(matcher: GrammarMatcher): number | undefined {
    const { pieces, letters } = this.#vocabulary;
    const [first, second] = this.#random() < 0.85 ? [pieces, letters] : [letters, pieces];
    return this.#try(matcher, first) ?? this.#try(matcher, second);
  }

  #try(matcher: GrammarMatcher, ids: readonly number[]): number | undefined {
    const from = Math.floor(this.#random() * ids.length);
    for (let at = 0; at < ids.length; at++) {
      const id = ids[(from + at) % ids.length] as number;
      if (matcher.tryAccept(id)) return id;
    }
    return undefined;
  }
}
