import { ByteTrie } from '../byte-trie.ts';
import { utf8Bytes } from '../utf8.ts';
import type { Vocabulary } from '../vocabulary.ts';
import type { SubwordModel } from './subword-model.ts';

const ESCAPE = /\\(?:x([0-9a-fA-F]{2})|(.))/gsu;
const CONTROL_CHARACTERS: Readonly<Record<string, number>> = { t: 0x09, n: 0x0a, r: 0x0d };

/** The RWKV world tokenizer: at every place the longest token that matches the bytes. */
export class RwkvModel implements SubwordModel {
  readonly #vocabulary: Vocabulary;
  readonly #unknown: number | undefined;
  #trie: ByteTrie | undefined;

  constructor(vocabulary: Vocabulary, unknown: number | undefined) {
    this.#vocabulary = vocabulary;
    this.#unknown = unknown;
  }

  encode(text: string, _afterSpecial: boolean, out: number[]): void {
    this.#trie ??= this.#createTrie();
    const bytes = utf8Bytes(text);
    for (let offset = 0; offset < bytes.length; ) {
      const { id, length } = this.#trie.longest(bytes, offset);
      if (length > 0) out.push(id);
      else if (this.#unknown !== undefined) out.push(this.#unknown);
      offset += Math.max(1, length);
    }
  }

  bytesOf(id: number): Uint8Array {
    return unescapeBytes(this.#vocabulary.texts[id] as string);
  }

  #createTrie(): ByteTrie {
    const trie = new ByteTrie(this.#vocabulary.size * 4);
    for (let id = 0; id < this.#vocabulary.size; id++) {
      if (this.#vocabulary.isPlain(id)) trie.insert(this.bytesOf(id), id);
    }
    return trie;
  }
}

/** RWKV vocabularies spell arbitrary bytes as Python's escapes: `\t`, `\n`, `\r`, `\xNN`, and `\` before any other character. */
export function unescapeBytes(spelling: string): Uint8Array {
  if (!spelling.includes('\\')) return utf8Bytes(spelling);
  const bytes: number[] = [];
  let end = 0;
  for (const match of spelling.matchAll(ESCAPE)) {
    bytes.push(...utf8Bytes(spelling.slice(end, match.index)));
    end = match.index + match[0].length;
    const [, hex, character = ''] = match;
    if (hex !== undefined) bytes.push(Number.parseInt(hex, 16));
    else
      bytes.push(
        ...(character in CONTROL_CHARACTERS
          ? [CONTROL_CHARACTERS[character] as number]
          : utf8Bytes(character)),
      );
  }
  bytes.push(...utf8Bytes(spelling.slice(end)));
  return Uint8Array.from(bytes);
}
