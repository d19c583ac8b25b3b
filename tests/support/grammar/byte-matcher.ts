import { type Grammar, PreparedVocabulary, TokenGrammar } from '../../../src/grammar/index.ts';
import { smallVocabulary } from './small-vocabulary.ts';

const BYTES = 256;
const WORDS = [
  '": ',
  '", "',
  '{"',
  '"}',
  '}]',
  'true',
  'null',
  'ab',
  'a"',
  '12',
  '.5',
  '\n  ',
  '"x\\"y"',
  '😀',
  'é\\',
  '[1',
  ', ',
];

/** The texts of `byteVocabulary`'s ids: first every byte, then some longer texts. */
export const SPELLED: readonly Uint8Array[] = [
  ...Array.from({ length: BYTES }, (_, byte) => Uint8Array.of(byte)),
  ...WORDS.map((word) => Buffer.from(word)),
];

/** A token for each of `SPELLED`, and one that ends generation. */
export const byteVocabulary = new PreparedVocabulary(
  smallVocabulary([...SPELLED.map((text) => ({ text })), { text: '<end>', kind: 'end' as const }]),
);

/** A grammar over `byteVocabulary`. */
export function byteGrammar(grammar: Grammar): TokenGrammar {
  return new TokenGrammar(grammar, byteVocabulary);
}

/** True when the grammar matches the whole text. */
export function isText(grammar: TokenGrammar, text: string): boolean {
  const matcher = grammar.matcher();
  return [...Buffer.from(text)].every((byte) => matcher.tryAccept(byte)) && matcher.canEnd;
}
