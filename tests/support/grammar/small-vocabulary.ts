import type { GrammarVocabulary } from '../../../src/grammar/index.ts';

/** One token of a vocabulary for tests. */
export interface SmallToken {
  readonly text: string | Uint8Array;
  readonly kind?: 'text' | 'user-defined' | 'control' | 'unused' | 'end';
}

const encoder = new TextEncoder();

/** A vocabulary of these tokens; those of kind `end` are control tokens that end generation. */
export function smallVocabulary(tokens: readonly SmallToken[]): GrammarVocabulary {
  const bytes = tokens.map(({ text }) => (typeof text === 'string' ? encoder.encode(text) : text));
  const kinds = tokens.map(({ kind = 'text' }) => (kind === 'end' ? 'control' : kind));
  return {
    size: tokens.length,
    endOfGeneration: new Set(tokens.flatMap(({ kind }, id) => (kind === 'end' ? [id] : []))),
    kind: (id) => kinds[id] ?? 'unused',
    bytes: (id) => bytes[id] ?? new Uint8Array(0),
  };
}
