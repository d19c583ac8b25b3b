import { fail } from '../../base/errors.ts';
import type { Steps } from '../../base/turns.ts';
import { bytesOfSpelling } from '../byte-alphabet.ts';
import type { PretokenizerKind } from '../pretokenizer-kinds.ts';
import { StringList } from '../string-list.ts';
import type { TokenizerMetadata } from '../tokenizer-metadata.ts';
import { unescapeSpaces } from '../utf8.ts';
import type { Vocabulary } from '../vocabulary.ts';
import type { SubwordModel } from './subword-model.ts';
import { WordEncoder } from './word-encoder.ts';

const MERGES = 'tokenizer.ggml.merges';

interface BytePairOptions {
  readonly vocabulary: Vocabulary;
  readonly kind: PretokenizerKind;
  readonly metadata: TokenizerMetadata;
  /** The token for text that the vocabulary cannot represent. */
  readonly unknown: number | undefined;
}

/** Byte-pair encoding with ranked merges within words (Sennrich et al. 2016), in GPT-2's alphabet of bytes or in plain characters. */
export class BytePairModel implements SubwordModel {
  readonly #options: BytePairOptions;
  readonly #merges: StringList | undefined;
  #encoder: WordEncoder | undefined;

  /** Throws `TOKENIZER_INVALID` when the merges are missing. */
  constructor(options: BytePairOptions) {
    const merges = StringList.read(options.metadata, MERGES);
    if (merges === undefined && options.kind.mergesOptional !== true) {
      fail('TOKENIZER_INVALID', { key: MERGES, found: 'none', expected: 'an array of strings' });
    }
    this.#options = options;
    this.#merges = merges;
  }

  encode(text: string, _afterSpecial: boolean, out: number[]): Steps {
    const { vocabulary, kind, unknown } = this.#options;
    this.#encoder ??= new WordEncoder(vocabulary, kind, this.#merges, unknown);
    return this.#encoder.encode(text, out);
  }

  bytesOf(id: number): Uint8Array {
    const { vocabulary, kind } = this.#options;
    if (kind.plainCharacters !== true) return bytesOfSpelling(vocabulary.text(id)) ?? vocabulary.bytes(id);
    return kind.escapesSpaces ? unescapeSpaces(vocabulary.bytes(id)) : vocabulary.bytes(id);
  }
}
