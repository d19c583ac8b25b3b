import type { Steps } from '../../base/turns.ts';
import { SymbolMerger } from '../symbol-merger.ts';
import { stretchesOf, unescapeSpaces, utf8Bytes } from '../utf8.ts';
import type { Vocabulary } from '../vocabulary.ts';
import { byteTokenIds } from './byte-tokens.ts';
import { ScoreMerges } from './score-merges.ts';
import type { SubwordModel } from './subword-model.ts';
import { SymbolTable } from './symbol-table.ts';

/** Characters or symbols per slice between pauses. */
const AT_ONCE = 1 << 12;

interface Encoder {
  readonly table: SymbolTable;
  readonly merger: SymbolMerger;
  readonly byteIds: Int32Array;
}

/**
 * SentencePiece's BPE model (Kudo & Richardson 2018): merges the adjacent pair with the best score first, over the
 * whole text with spaces as U+2581; characters missing from the vocabulary become byte tokens.
 */
export class SentencePieceModel implements SubwordModel {
  readonly #vocabulary: Vocabulary;
  readonly #addSpacePrefix: boolean;
  readonly #unknown: number | undefined;
  #encoder: Encoder | undefined;

  constructor(vocabulary: Vocabulary, addSpacePrefix: boolean, unknown: number | undefined) {
    this.#vocabulary = vocabulary;
    this.#addSpacePrefix = addSpacePrefix;
    this.#unknown = unknown;
  }

  *encode(text: string, afterSpecial: boolean, out: number[]): Steps {
    this.#encoder ??= this.#createEncoder();
    const { table, merger, byteIds } = this.#encoder;
    const symbols = new Int32Array(text.length + 1);
    let count = 0;
    if (this.#addSpacePrefix && afterSpecial) symbols[count++] = table.symbolOf('\u2581');
    for (const stretch of stretchesOf(text, AT_ONCE)) {
      if (count > 1) yield;
      for (const character of stretch.replaceAll(' ', '\u2581')) symbols[count++] = table.symbolOf(character);
    }
    count = yield* merger.mergeSteps(symbols, count);
    for (let i = 0; i < count; i++) {
      if (i % AT_ONCE === AT_ONCE - 1) yield;
      const symbol = symbols[i] as number;
      if (table.isToken(symbol)) {
        out.push(symbol);
        continue;
      }
      for (const byte of utf8Bytes(table.textOf(symbol))) {
        const id = byteIds[byte] as number;
        if (id >= 0) out.push(id);
      }
    }
  }

  bytesOf(id: number): Uint8Array {
    return unescapeSpaces(this.#vocabulary.bytes(id));
  }

  #createEncoder(): Encoder {
    const table = new SymbolTable(this.#vocabulary);
    return {
      table,
      merger: new SymbolMerger(new ScoreMerges(this.#vocabulary, table)),
      byteIds: byteTokenIds(this.#vocabulary, this.#unknown),
    };
  }
}
