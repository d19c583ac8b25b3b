import type { Steps } from '../../base/turns.ts';
import type { GrammarVocabulary } from '../../grammar/index.ts';
import type { TokenType } from '../token-type.ts';
import type { Tokenizer } from '../tokenizer.ts';

const KINDS = ['text', 'user-defined', 'control', 'unused'] as const;
type Kind = (typeof KINDS)[number];

/** How a grammar treats each token type: tokens without text are never allowed. */
const KIND_OF: Readonly<Record<TokenType, Kind>> = {
  undefined: 'unused',
  normal: 'text',
  unknown: 'unused',
  control: 'control',
  userDefined: 'user-defined',
  unused: 'unused',
  byte: 'text',
};

/** Tokens processed between two pauses. */
const AT_ONCE = 4096;

/** The tokens of a model in a form that can be sent to a worker. */
export interface VocabularyTable {
  readonly size: number;
  /** All tokens' bytes, concatenated. */
  readonly bytes: Uint8Array;
  /** The offset of each token's bytes, and the end of the last. */
  readonly starts: Uint32Array;
  /** Each token's index in `KINDS`. */
  readonly kinds: Uint8Array;
  readonly endOfGeneration: readonly number[];
}

/** Reads a tokenizer's tokens; ids beyond them, up to the `size` of the logits, are never allowed. */
export function* vocabularyTable(tokenizer: Tokenizer, size: number): Steps<VocabularyTable> {
  const kinds = new Uint8Array(size).fill(KINDS.indexOf('unused'));
  const starts = new Uint32Array(size + 1);
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (let id = 0; id < size; id++) {
    starts[id] = length;
    if (id % AT_ONCE === AT_ONCE - 1) yield;
    if (id >= tokenizer.vocabularySize) continue;
    const piece = tokenizer.tokenBytes(id);
    kinds[id] = KINDS.indexOf(KIND_OF[tokenizer.tokenType(id)]);
    pieces.push(piece);
    length += piece.length;
  }
  starts[size] = length;
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  const ends = [...tokenizer.special.endOfGeneration].filter((id) => id < size);
  return { size, bytes, starts, kinds, endOfGeneration: ends };
}

/** The tokens of a table in the form that grammars need. */
export function tableVocabulary(table: VocabularyTable): GrammarVocabulary {
  const { size, bytes, starts, kinds } = table;
  return {
    size,
    endOfGeneration: new Set(table.endOfGeneration),
    kind: (id) => KINDS[kinds[id] as number] as Kind,
    bytes: (id) => bytes.subarray(starts[id], starts[id + 1]),
  };
}
