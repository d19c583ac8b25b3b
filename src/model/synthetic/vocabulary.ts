import { fail } from '../../base/errors.ts';

/** A SentencePiece vocabulary: pieces, scores (higher is merged earlier) and GGUF's token types, by id. */
export interface SyntheticVocabulary {
  readonly pieces: readonly string[];
  readonly scores: readonly number[];
  readonly types: readonly number[];
}

/** GGUF's `tokenizer.ggml.token_type`. */
const TYPE = { normal: 1, unknown: 2, control: 3, byte: 6 } as const;

/** Ids of the special pieces, as in every Llama vocabulary. */
export const SYNTHETIC_SPECIAL = { unknown: 0, begin: 1, end: 2 } as const;

const SPACE = '\u2581';
const CHARACTERS =
  'etaoinsrhldcumfpgwybvkxjqzETAOINSRHLDCUMFPGWYBVKXJQZ0123456789.,!?;:\'"()[]{}<>/\\+-*=_#%&@$^~`|';
const CONSONANTS = 'tnsrhldcmfpgwybvkxjqz';
const VOWELS = 'eaoiu';

/** Minimum size of a vocabulary of this kind: specials, bytes, characters with and without a leading space. */
export const MIN_VOCABULARY = 3 + 256 + 1 + 2 * CHARACTERS.length;

/**
 * A vocabulary of invented words that behaves like a trained one: bytes for everything, characters, syllables, and
 * words of increasing length. Every piece of several characters is the concatenation of two others, so that merging
 * reaches it. Throws `INVALID_ARGUMENT` for fewer than `MIN_VOCABULARY` pieces.
 */
export function syntheticVocabulary(size: number): SyntheticVocabulary {
  if (size < MIN_VOCABULARY) {
    const expected = `at least ${MIN_VOCABULARY}`;
    fail('INVALID_ARGUMENT', { name: 'vocabulary', found: `${size}`, expected });
  }
  const bytes = Array.from(
    { length: 256 },
    (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
  );
  const first = 3 + bytes.length;
  const normal: string[] = [];
  for (const piece of madeUpPieces()) {
    if (normal.length === size - first) break;
    normal.push(piece);
  }
  return {
    pieces: ['<unk>', '<s>', '</s>', ...bytes, ...normal],
    scores: [...Array<number>(first).fill(0), ...normal.map((_, index) => -index)],
    types: [
      TYPE.unknown,
      TYPE.control,
      TYPE.control,
      ...Array<number>(bytes.length).fill(TYPE.byte),
      ...Array<number>(normal.length).fill(TYPE.normal),
    ],
  };
}

/** Endless: a space, characters, then words of one syllable, of two, of three. */
function* madeUpPieces(): Generator<string, void> {
  yield SPACE;
  for (const character of CHARACTERS) {
    yield character;
    yield SPACE + character;
  }
  for (let syllables = 1; ; syllables++) {
    for (const word of wordsOf(syllables)) {
      yield SPACE + word;
      yield word;
    }
  }
}

function* wordsOf(syllables: number): Generator<string, void> {
  if (syllables === 0) {
    yield '';
    return;
  }
  for (const start of wordsOf(syllables - 1)) {
    for (const consonant of CONSONANTS) {
      for (const vowel of VOWELS) yield start + consonant + vowel;
    }
  }
}
