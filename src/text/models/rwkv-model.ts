import type { Steps } from '../../base/turns.ts';
import { ByteTrie } from '../byte-trie.ts';
import { utf8Bytes } from '../utf8.ts';
import type { Vocabulary } from '../vocabulary.ts';
import type { SubwordModel } from './subword-model.ts';

/** Tokens per slice between pauses. */
const AT_ONCE = 1 << 12;
const BACKSLASH = 0x5c;
const HEX = 0x78;
/** The control characters that t, n and r represent after a backslash. */
const CONTROL_CHARACTERS: ReadonlyMap<number, number> = new Map([
  [0x74, 0x09],
  [0x6e, 0x0a],
  [0x72, 0x0d],
]);

/** The RWKV world tokenizer: greedy longest match over bytes. */
export class RwkvModel implements SubwordModel {
  readonly #vocabulary: Vocabulary;
  readonly #unknown: number | undefined;
  #trie: ByteTrie | undefined;

  constructor(vocabulary: Vocabulary, unknown: number | undefined) {
    this.#vocabulary = vocabulary;
    this.#unknown = unknown;
  }

  *encode(text: string, _afterSpecial: boolean, out: number[]): Steps {
    this.#trie ??= this.#createTrie();
    const bytes = utf8Bytes(text);
    for (let offset = 0, found = 1; offset < bytes.length; found++) {
      if (found % AT_ONCE === 0) yield;
      const { id, length } = this.#trie.longest(bytes, offset);
      if (length > 0) out.push(id);
      else if (this.#unknown !== undefined) out.push(this.#unknown);
      offset += Math.max(1, length);
    }
  }

  bytesOf(id: number): Uint8Array {
    return unescapeBytes(this.#vocabulary.bytes(id));
  }

  #createTrie(): ByteTrie {
    const trie = new ByteTrie(this.#vocabulary.size * 4);
    for (let id = 0; id < this.#vocabulary.size; id++) {
      if (this.#vocabulary.isPlain(id)) trie.insert(this.bytesOf(id), id);
    }
    return trie;
  }
}

/** RWKV vocabularies escape bytes as Python does: `\t`, `\n`, `\r`, `\xNN`, and `\` before any other byte. */
export function unescapeBytes(spelling: Uint8Array): Uint8Array {
  if (!spelling.includes(BACKSLASH)) return spelling;
  const bytes = new Uint8Array(spelling.length);
  let length = 0;
  for (let i = 0; i < spelling.length; i++) {
    let byte = spelling[i] as number;
    if (byte === BACKSLASH && i + 1 < spelling.length) {
      byte = spelling[++i] as number;
      if (byte === HEX && i + 2 < spelling.length) {
        byte = Number.parseInt(String.fromCharCode(spelling[++i] as number, spelling[++i] as number), 16);
      } else byte = CONTROL_CHARACTERS.get(byte) ?? byte;
    }
    bytes[length++] = byte;
  }
  return bytes.subarray(0, length);
}
