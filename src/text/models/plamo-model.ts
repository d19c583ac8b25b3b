import type { Steps } from '../../base/turns.ts';
import { ByteTrie } from '../byte-trie.ts';
import { utf8Bytes } from '../utf8.ts';
import type { Vocabulary } from '../vocabulary.ts';
import { byteTokenIds } from './byte-tokens.ts';
import type { SubwordModel } from './subword-model.ts';

/** Characters per slice between pauses. */
const AT_ONCE = 1 << 12;
/** Scores are compared as whole numbers of this fraction. */
const UNIT = 1e4;
/** What a character without a token costs, and from which costs on a token is never used; in units. */
const UNKNOWN_COST = 1e7;
const LARGEST_COST = 2e7;
const BYTE_ORDER_MARK = '\uFEFF';

interface Tables {
  readonly trie: ByteTrie;
  readonly bytes: Int32Array;
}

/**
 * PLaMo 2's tokenizer (Preferred Networks 2025): the segmentation with the highest total score, as in a unigram model, but found from
 * the end, with longer tokens first among equals, and with characters without a token as bytes.
 */
export class PlamoModel implements SubwordModel {
  readonly #vocabulary: Vocabulary;
  readonly #unknown: number | undefined;
  #tables: Tables | undefined;

  constructor(vocabulary: Vocabulary, unknown: number | undefined) {
    this.#vocabulary = vocabulary;
    this.#unknown = unknown;
  }

  *encode(text: string, _afterSpecial: boolean, out: number[]): Steps {
    this.#tables ??= this.#createTables();
    const { bytes } = this.#tables;
    const spelled = utf8Bytes(text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text);
    const { ids, lengths } = yield* this.#bestPath(spelled, this.#tables.trie);
    for (let at = 0, seen = 1; at < spelled.length; seen++) {
      if (seen % AT_ONCE === 0) yield;
      const [id, end] = [ids[at] as number, at + (lengths[at] as number)];
      if (id >= 0) out.push(id);
      else for (let byte = at; byte < end; byte++) out.push(bytes[spelled[byte] as number] as number);
      at = end;
    }
  }

  bytesOf(id: number): Uint8Array {
    return this.#vocabulary.bytes(id);
  }

  /** For each character, the token that begins there on the cheapest way to the end, or -1, and its length in bytes. */
  *#bestPath(text: Uint8Array, trie: ByteTrie): Steps<{ ids: Int32Array; lengths: Int32Array }> {
    const costs = new Float64Array(text.length + 1);
    const ids = new Int32Array(text.length).fill(-1);
    const lengths = new Int32Array(text.length);
    for (let start = text.length - 1, seen = 1; start >= 0; start--) {
      // Bytes within a character.
      if (((text[start] as number) & 0xc0) === 0x80) continue;
      if (seen++ % AT_ONCE === 0) yield;
      let end = start + 1;
      while (end < text.length && ((text[end] as number) & 0xc0) === 0x80) end++;
      [costs[start], lengths[start]] = [(costs[end] as number) + UNKNOWN_COST, end - start];
      for (let node = 0, at = start; at < text.length; ) {
        node = trie.next(node, text[at++] as number);
        if (node < 0) break;
        const id = trie.idAt(node);
        const cost = id < 0 ? LARGEST_COST : this.#costOf(id);
        // A longer one takes the place of a shorter one that is as cheap.
        const isBetter = cost < LARGEST_COST && (costs[at] as number) + cost <= (costs[start] as number);
        if (isBetter) [costs[start], ids[start], lengths[start]] = [(costs[at] as number) + cost, id, at - start];
      }
    }
    return { ids, lengths };
  }

  /** Rounded as in C: halves away from zero. */
  #costOf(id: number): number {
    const score = (this.#vocabulary.scores[id] as number) * UNIT;
    return Number.isFinite(score) ? -Math.sign(score) * Math.round(Math.abs(score)) : LARGEST_COST;
  }

  #createTables(): Tables {
    const vocabulary = this.#vocabulary;
    const trie = new ByteTrie(vocabulary.size * 4);
    for (let id = 0; id < vocabulary.size; id++) {
      if (vocabulary.isPlain(id)) trie.insert(vocabulary.bytes(id), id);
    }
    return { trie, bytes: byteTokenIds(vocabulary, this.#unknown) };
  }
}
