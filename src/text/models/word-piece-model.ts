import type { TokenizerMetadata } from '../tokenizer-metadata.ts';
import type { Steps } from '../../base/turns.ts';
import { unescapeSpaces, utf8Bytes } from '../utf8.ts';
import type { Vocabulary } from '../vocabulary.ts';
import type { SubwordModel } from './subword-model.ts';

/** Marks tokens that begin a word; GGUF uses it instead of the original `##` on those that continue one. */
const WORD_START = '\u2581';
/** BERT does not split longer words. */
const MAX_WORD_LENGTH = 100;
/** Removed by BERT's cleanup: everything that is neither text nor whitespace. */
const CONTROL = /[\ufffd\p{C}]/gu;
const PUNCTUATION = /[\p{P}!-/:-@[-`{-~]/u;
const IDEOGRAPH =
  /[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/u;
/** A text can be cut before any character except a mark, and normalized piece by piece. */
const CUT = /\P{M}/gu;
/** UTF-16 units per slice between pauses, plus the marks that follow them. */
const AT_ONCE = 1 << 10;

/** BERT's WordPiece (Devlin et al. 2018): basic tokens, each split greedily into the longest known pieces. */
export class WordPieceModel implements SubwordModel {
  readonly #vocabulary: Vocabulary;
  readonly #unknown: number | undefined;
  readonly #lowercase: boolean;
  readonly #stripAccents: boolean;

  constructor(vocabulary: Vocabulary, metadata: TokenizerMetadata, unknown: number | undefined) {
    this.#vocabulary = vocabulary;
    this.#unknown = unknown;
    this.#lowercase = metadata.boolean('tokenizer.ggml.normalizer.lowercase') ?? true;
    this.#stripAccents = metadata.boolean('tokenizer.ggml.normalizer.strip_accents') ?? this.#lowercase;
  }

  *encode(text: string, _afterSpecial: boolean, out: number[]): Steps {
    let word = '';
    let length = 0;
    for (let start = 0; start < text.length; ) {
      if (start > 0) yield;
      const end = nextCut(text, start + AT_ONCE);
      for (const character of this.#normalize(text.slice(start, end))) {
        if (!standsAlone(character)) {
          if (length++ < MAX_WORD_LENGTH) word += character;
          continue;
        }
        this.#encodeWord(word, length, out);
        if (character !== ' ') this.#encodeWord(character, 1, out);
        word = '';
        length = 0;
      }
      start = end;
    }
    this.#encodeWord(word, length, out);
  }

  bytesOf(id: number): Uint8Array {
    return unescapeSpaces(this.#vocabulary.bytes(id));
  }

  #normalize(text: string): string {
    const spaced = text.replace(/\p{White_Space}/gu, ' ').replace(CONTROL, '');
    const bare = this.#stripAccents ? spaced.normalize('NFD').replace(/\p{Mn}/gu, '') : spaced;
    if (!this.#lowercase) return bare;
    // Character by character, because BERT does not apply the final sigma rule.
    return bare.replace(/\P{Lowercase}/gu, (character) => character.toLowerCase());
  }

  /** `length` counts characters; a word over the limit may be passed incomplete. */
  #encodeWord(word: string, length: number, out: number[]): void {
    if (length === 0) return;
    const pieces = length > MAX_WORD_LENGTH ? undefined : this.#pieces(utf8Bytes(WORD_START + word));
    if (pieces !== undefined) out.push(...pieces);
    else if (this.#unknown !== undefined) out.push(this.#unknown);
  }

  #plainId(word: Uint8Array, start: number, end: number): number {
    const id = this.#vocabulary.find(word, start, end);
    return id >= 0 && this.#vocabulary.isPlain(id) ? id : -1;
  }

  #pieces(word: Uint8Array): number[] | undefined {
    const ids: number[] = [];
    for (let start = 0; start < word.length; ) {
      let end = word.length;
      let id = this.#plainId(word, start, end);
      while (id < 0 && end > start + 1) id = this.#plainId(word, start, --end);
      if (id < 0) return undefined;
      ids.push(id);
      start = end;
    }
    return ids;
  }
}

function nextCut(text: string, from: number): number {
  CUT.lastIndex = from;
  return CUT.exec(text)?.index ?? text.length;
}

/** Punctuation and ideographs are separate words; so is a space, which yields no token. */
function standsAlone(character: string): boolean {
  return character === ' ' || PUNCTUATION.test(character) || IDEOGRAPH.test(character);
}
