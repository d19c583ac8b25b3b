import type { Steps } from '../../base/turns.ts';
import { ByteTrie } from '../byte-trie.ts';
import { TOKEN_TYPES } from '../token-type.ts';
import type { TokenizerMetadata } from '../tokenizer-metadata.ts';
import { unescapeSpaces, utf8Bytes } from '../utf8.ts';
import type { Vocabulary } from '../vocabulary.ts';
import { PrecompiledCharsmap } from './precompiled-charsmap.ts';
import type { SubwordModel } from './subword-model.ts';

const SPACE = 0x20;
const ESCAPED_SPACE = utf8Bytes('\u2581');
/** Characters per slice between pauses. */
const AT_ONCE = 1 << 12;
/** The score of an unknown character, below that of the worst token. */
const UNKNOWN_PENALTY = 10;

interface Tables {
  readonly tokens: ByteTrie;
  readonly userDefined: ByteTrie;
  readonly charsmap: PrecompiledCharsmap | undefined;
  readonly unknownScore: number;
}

interface UnigramOptions {
  readonly vocabulary: Vocabulary;
  readonly metadata: TokenizerMetadata;
  readonly addSpacePrefix: boolean;
  readonly unknown: number | undefined;
}

/**
 * SentencePiece's unigram model (Kudo 2018): finds the segmentation with the highest total score by dynamic
 * programming.
 */
export class UnigramModel implements SubwordModel {
  readonly #options: UnigramOptions;
  readonly #mergeSpaces: boolean;
  #tables: Tables | undefined;

  constructor(options: UnigramOptions) {
    this.#options = options;
    this.#mergeSpaces = options.metadata.boolean('tokenizer.ggml.remove_extra_whitespaces') ?? false;
  }

  *encode(text: string, _afterSpecial: boolean, out: number[]): Steps {
    this.#tables ??= createTables(this.#options.vocabulary, this.#options.metadata);
    const bytes = yield* this.#normalize(utf8Bytes(text), this.#tables);
    for (const id of yield* this.#bestPath(bytes, this.#tables)) out.push(id);
  }

  bytesOf(id: number): Uint8Array {
    return unescapeSpaces(this.#options.vocabulary.bytes(id));
  }

  *#normalize(text: Uint8Array, tables: Tables): Steps<Uint8Array> {
    const out: number[] = [];
    let inWord = false;
    let prefixed = false;
    const append = (byte: number) => {
      if (byte !== SPACE) {
        if (!inWord && ((this.#options.addSpacePrefix && !prefixed) || this.#mergeSpaces)) {
          out.push(...ESCAPED_SPACE);
          prefixed = true;
        }
        inWord = true;
        out.push(byte);
        return;
      }
      inWord = false;
      if (!this.#mergeSpaces) out.push(...ESCAPED_SPACE);
    };
    for (let offset = 0, seen = 1; offset < text.length; seen++) {
      if (seen % AT_ONCE === 0) yield;
      const userDefined = tables.userDefined.longest(text, offset).length;
      const rule = userDefined > 0 ? undefined : tables.charsmap?.match(text, offset);
      const length = rule?.length ?? (userDefined || characterLength(text[offset] as number));
      for (const byte of rule?.bytes ?? text.subarray(offset, offset + length)) append(byte);
      offset += length;
    }
    return new Uint8Array(out);
  }

  *#bestPath(text: Uint8Array, { tokens, unknownScore }: Tables): Steps<number[]> {
    const { vocabulary, unknown = -1 } = this.#options;
    const scores = new Float64Array(text.length + 1).fill(Number.NEGATIVE_INFINITY);
    const ids = new Int32Array(text.length + 1);
    const starts = new Int32Array(text.length + 1);
    const offer = (start: number, end: number, id: number, score: number) => {
      if (score <= (scores[end] as number)) return;
      scores[end] = score;
      ids[end] = id;
      starts[end] = start;
    };
    scores[0] = 0;
    for (let start = 0, seen = 1; start < text.length; seen++) {
      if (seen % AT_ONCE === 0) yield;
      const length = Math.min(characterLength(text[start] as number), text.length - start);
      const base = scores[start] as number;
      let covered = false;
      let node = 0;
      for (let end = start; end < text.length; ) {
        node = tokens.next(node, text[end++] as number);
        if (node < 0) break;
        const id = tokens.idAt(node);
        if (id < 0) continue;
        const userDefined = vocabulary.types[id] === TOKEN_TYPES.userDefined;
        offer(start, end, id, base + (userDefined ? 0 : (vocabulary.scores[id] as number)));
        covered ||= end - start === length;
      }
      if (!covered) offer(start, start + length, unknown, base + unknownScore);
      start += length;
    }
    return readBack(ids, starts, unknown);
  }
}

/** Backtracks the best path; adjacent unknown characters become one unknown token. */
function readBack(ids: Int32Array, starts: Int32Array, unknown: number): number[] {
  const path: number[] = [];
  for (let end = ids.length - 1; end > 0; end = starts[end] as number) {
    const id = ids[end] as number;
    if (id !== unknown || path.at(-1) !== unknown) path.push(id);
  }
  return path.filter((id) => id >= 0).reverse();
}

function characterLength(firstByte: number): number {
  if (firstByte < 0xc0) return 1;
  if (firstByte < 0xe0) return 2;
  return firstByte < 0xf0 ? 3 : 4;
}

function createTables(vocabulary: Vocabulary, metadata: TokenizerMetadata): Tables {
  const tokens = new ByteTrie(vocabulary.size * 4);
  const userDefined = new ByteTrie(16);
  let worst = Number.POSITIVE_INFINITY;
  for (let id = 0; id < vocabulary.size; id++) {
    const type = vocabulary.types[id];
    if (type === TOKEN_TYPES.normal) worst = Math.min(worst, vocabulary.scores[id] as number);
    if (!vocabulary.isPlain(id)) continue;
    const key = vocabulary.bytes(id);
    tokens.insert(key, id);
    if (type === TOKEN_TYPES.userDefined) userDefined.insert(key, id);
  }
  const charsmap = metadata.numbers('tokenizer.ggml.precompiled_charsmap');
  return {
    tokens,
    userDefined,
    charsmap: charsmap === undefined ? undefined : new PrecompiledCharsmap(charsmap),
    unknownScore: (worst === Number.POSITIVE_INFINITY ? 0 : worst) - UNKNOWN_PENALTY,
  };
}
