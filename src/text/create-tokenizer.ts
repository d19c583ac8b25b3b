import { fail } from '../base/errors.ts';
import { BytePairModel } from './models/byte-pair-model.ts';
import { PlamoModel } from './models/plamo-model.ts';
import { RwkvModel } from './models/rwkv-model.ts';
import { SentencePieceModel } from './models/sentencepiece-model.ts';
import type { SubwordModel } from './models/subword-model.ts';
import { UnigramModel } from './models/unigram-model.ts';
import { WordPieceModel } from './models/word-piece-model.ts';
import { type PretokenizerKind, pretokenizerKind } from './pretokenizer-kinds.ts';
import { readSpecialTokens, type SpecialDefaults, type SpecialTokens } from './special-tokens.ts';
import { readStripRules } from './strip-rules.ts';
import type { Tokenizer } from './tokenizer.ts';
import type { TokenizerMetadata } from './tokenizer-metadata.ts';
import { Vocabulary } from './vocabulary.ts';
import { VocabularyTokenizer } from './vocabulary-tokenizer.ts';

/** The inputs of a tokenizer kind's factories. */
interface Source {
  readonly model: string;
  readonly metadata: TokenizerMetadata;
  readonly vocabulary: Vocabulary;
}

interface Subwords {
  readonly subwords: SubwordModel;
  readonly marksTextStart?: boolean;
  readonly spellsAllTokens?: boolean;
}

/** One name of `tokenizer.ggml.model`. */
interface TokenizerKind {
  defaults(metadata: TokenizerMetadata): SpecialDefaults;
  create(source: Source, special: SpecialTokens): Subwords;
  /** True if a text is always wrapped in bos and separator. */
  readonly wrapped?: boolean;
}

const ADD_SPACE_PREFIX = 'tokenizer.ggml.add_space_prefix';

const sentencePiece: TokenizerKind = {
  defaults: () => ({ ids: { bos: 1, eos: 2, unknown: 0 }, addBos: true }),
  create({ metadata, vocabulary }, { unknown }) {
    const prefix = metadata.boolean(ADD_SPACE_PREFIX) ?? true;
    return { subwords: new SentencePieceModel(vocabulary, prefix, unknown), marksTextStart: prefix };
  },
};

/** A byte-pair kind; `name` overrides the pre-tokenizer of the metadata. */
function bytePair(name?: string): TokenizerKind {
  const kindOf = (metadata: TokenizerMetadata): PretokenizerKind =>
    pretokenizerKind(name ?? metadata.string('tokenizer.ggml.pre'));
  return {
    defaults(metadata) {
      const { addBos = false, addSeparator = false, withoutBos } = kindOf(metadata);
      const unnamed = name !== undefined;
      const ids = unnamed ? {} : withoutBos ? { eos: 11 } : { bos: 11, eos: 11 };
      return { ids, addBos, addSeparator };
    },
    create: ({ metadata, vocabulary }, { unknown }) => ({
      subwords: new BytePairModel({ vocabulary, kind: kindOf(metadata), metadata, unknown }),
    }),
  };
}

const wordPiece: TokenizerKind = {
  defaults: () => ({
    ids: { bos: 101, unknown: 100, separator: 102, padding: 0, mask: 103 },
    addBos: true,
    addSeparator: true,
  }),
  create: ({ metadata, vocabulary }, { unknown }) => ({
    subwords: new WordPieceModel(vocabulary, metadata, unknown),
    marksTextStart: true,
  }),
  wrapped: true,
};

const unigram: TokenizerKind = {
  defaults: () => ({ ids: { eos: 1, unknown: 2, padding: 0 }, addEos: true }),
  create({ metadata, vocabulary }, { unknown }) {
    const addSpacePrefix = metadata.boolean(ADD_SPACE_PREFIX) ?? false;
    const subwords = new UnigramModel({ vocabulary, metadata, addSpacePrefix, unknown });
    return { subwords, marksTextStart: addSpacePrefix };
  },
};

const rwkv: TokenizerKind = {
  defaults: () => ({ ids: {} }),
  create: ({ vocabulary }, { unknown }) => ({
    subwords: new RwkvModel(vocabulary, unknown),
    spellsAllTokens: true,
  }),
};

const plamo: TokenizerKind = {
  defaults: () => ({ ids: { bos: 1, eos: 2, unknown: 0, padding: 3 } }),
  create: ({ vocabulary }, { unknown }) => ({ subwords: new PlamoModel(vocabulary, unknown) }),
};

const KINDS: Readonly<Record<string, TokenizerKind>> = {
  llama: sentencePiece,
  gpt2: bytePair(),
  gemma4: bytePair('gemma4'),
  bert: wordPiece,
  t5: unigram,
  rwkv,
  plamo2: plamo,
};

/**
 * The tokenizer described by a GGUF file's metadata. Throws `TOKENIZER_MISSING` for a file without one,
 * `TOKENIZER_UNKNOWN` and `PRETOKENIZER_UNKNOWN` for unknown names, `TOKENIZER_INVALID` for incomplete or inconsistent
 * metadata.
 */
export function createTokenizer(metadata: TokenizerMetadata): Tokenizer {
  const model = metadata.string('tokenizer.ggml.model');
  if (model === undefined) fail('TOKENIZER_MISSING', { found: 'no such key' });
  if (model === 'none' || model === 'no_vocab') fail('TOKENIZER_MISSING', { found: `"${model}"` });
  const kind = Object.hasOwn(KINDS, model) ? KINDS[model] : undefined;
  if (kind === undefined) {
    fail('TOKENIZER_UNKNOWN', { found: model, known: Object.keys(KINDS).join(', ') });
  }
  const vocabulary = Vocabulary.read(metadata);
  const special = readSpecialTokens(metadata, vocabulary, kind.defaults(metadata));
  const plain = vocabulary.withoutMarkup();
  return new VocabularyTokenizer({
    model,
    vocabulary,
    special,
    marksTextStart: false,
    ...(plain && { guarded: kind.create({ model, metadata, vocabulary: plain }, special).subwords }),
    ...kind.create({ model, metadata, vocabulary }, special),
    strip: readStripRules(metadata, vocabulary),
    ...wrapping(special, kind.wrapped === true),
  });
}

function wrapping(special: SpecialTokens, wrapped: boolean): { prefix: number[]; suffix: number[] } {
  const { bos, eos, separator, addBos, addEos } = special;
  const some = (id: number | undefined, wanted: boolean) => (wanted && id !== undefined ? [id] : []);
  return wrapped
    ? { prefix: some(bos, true), suffix: some(separator, true) }
    : { prefix: some(bos, addBos), suffix: some(eos, addEos) };
}
