import { fail } from '../base/errors.ts';
import { type CheckpointFiles, invalid, isObject, type JsonObject, readJson } from './checkpoint.ts';
import type { CheckpointFamily, Settings } from './family.ts';
import { pretokenizerName } from './pretokenizer-name.ts';
import { readSentencePieces } from './sentencepiece-file.ts';
import { writeSpecialTokens } from './special-token-settings.ts';

/** Kinds of tokens in GGUF files. */
const NORMAL = 1;
const CONTROL = 3;
const USER_DEFINED = 4;
const UNUSED = 5;

const CONFIG = 'tokenizer_config.json';
const TOKENIZER = 'tokenizer.json';
const PIECES = 'tokenizer.model';
/** Tokens beside a SentencePiece vocabulary, in older repositories. */
const ADDED = 'added_tokens.json';

/** What WordPiece's pieces that continue a word begin with. */
const CONTINUED = '##';

/** llama.cpp names vocabularies of WordPiece by what they make of a text, and reads none of these names. This is the usual one. */
const WORD_PIECES_NAME = 'bert-bge';

/** What the vocabulary is made of. */
interface VocabularySource {
  readonly files: CheckpointFiles;
  readonly family: CheckpointFamily;
  /** The number of the embedding's rows that are tokens. */
  readonly size: number | undefined;
  /** The name of the pre-tokenizer instead of the one that its patterns tell. */
  readonly pre: string | undefined;
}

/**
 * Writes the tokenizer's settings: SentencePiece's if there is a `tokenizer.model`, otherwise a byte-pair tokenizer's. Rejects with
 * `CHECKPOINT_INVALID` or `CONVERT_UNSUPPORTED`.
 */
export async function writeVocabulary(source: VocabularySource, settings: Settings): Promise<void> {
  const { files, family } = source;
  const config = await readJson(files, CONFIG);
  const tokenizer = await readJson(files, TOKENIZER);
  const pieces = family.spaces === undefined ? undefined : await files.read(PIECES);
  if (pieces) {
    const added = await addedPieces({ files, config, tokenizer }, family);
    writePieces(pieces, added, source, settings);
    const space = family.spaces === 'not added' ? false : config?.add_prefix_space;
    if (family.spaces !== 'as stored' && typeof space === 'boolean') {
      settings.set('tokenizer.ggml.add_space_prefix', { type: 'bool', value: space });
    }
  } else if (tokenizer && family.hasWordPieces) {
    writeWordPieces(tokenizer, source, settings);
  } else if (tokenizer) {
    writeBytePairs(tokenizer, source, settings);
  } else {
    invalid(
      files.name,
      'no tokenizer',
      family.spaces === undefined ? TOKENIZER : `${TOKENIZER} or ${PIECES}`,
    );
  }
  await writeSpecialTokens({ files, config, tokenizer }, settings);
}

/** Tokens beside the pieces, in the files that may name them; later ones count. */
async function addedPieces(
  { files, config, tokenizer }: Parameters<typeof writeSpecialTokens>[0],
  { spaces }: CheckpointFamily,
): Promise<AddedToken[]> {
  const ids = Object.entries((await readJson(files, ADDED)) ?? {});
  const older = ids.map(([text, id]) => ({ id: Number(id), text, special: false }));
  const own = [...older, ...addedTokens(config?.added_tokens_decoder)];
  if (spaces === 'as stored') return [...own, ...addedTokens(tokenizer?.added_tokens)];
  const isOlder = (index: number) => index < older.length;
  return own.map((token, index) =>
    isOlder(index) || token.special ? token : { ...token, text: token.text.replaceAll('\u2581', ' ') },
  );
}

function writePieces(
  bytes: Uint8Array,
  added: readonly AddedToken[],
  { size }: VocabularySource,
  settings: Settings,
): void {
  const pieces = readSentencePieces(bytes, PIECES);
  const count = size ?? pieces.length;
  const tokens = Array.from({ length: count }, (_, id) => pieces[id]?.text ?? `[PAD${id}]`);
  const scores = Array.from({ length: count }, (_, id) => pieces[id]?.score ?? -10000);
  // Defined by users is what the settings beside it name; llama.cpp reads the others as normal.
  const types = Array.from({ length: count }, (_, id) => {
    const type = pieces[id]?.type ?? UNUSED;
    return type === USER_DEFINED ? NORMAL : type;
  });
  for (const { id, text, special } of added) {
    if (id >= count) continue;
    tokens[id] = text;
    types[id] = special ? CONTROL : USER_DEFINED;
    scores[id] = -1000;
  }
  settings.set('tokenizer.ggml.model', { type: 'string', value: 'llama' });
  settings.set('tokenizer.ggml.pre', { type: 'string', value: 'default' });
  settings.set('tokenizer.ggml.tokens', { type: 'array', element: 'string', values: tokens });
  settings.set('tokenizer.ggml.scores', { type: 'array', element: 'f32', values: scores });
  settings.set('tokenizer.ggml.token_type', { type: 'array', element: 'i32', values: types });
}

function writeBytePairs(tokenizer: JsonObject, { size, pre }: VocabularySource, settings: Settings): void {
  const model = isObject(tokenizer.model) ? tokenizer.model : {};
  const { type, byte_fallback: fallback, vocab } = model;
  if (type !== 'BPE' || fallback === true || !isObject(vocab)) {
    const found = `${String(type)}${fallback === true ? ' with bytes as tokens' : ''}`;
    const expected = `a byte-pair tokenizer, or ${PIECES}`;
    fail('CONVERT_UNSUPPORTED', { what: `${TOKENIZER}: model`, found, expected });
  }
  const { tokens, types } = numbered(vocab, tokenizer.added_tokens, size);
  const name = pre ?? pretokenizerName(tokenizer);
  settings.set('tokenizer.ggml.model', { type: 'string', value: 'gpt2' });
  settings.set('tokenizer.ggml.pre', { type: 'string', value: name });
  settings.set('tokenizer.ggml.tokens', { type: 'array', element: 'string', values: tokens });
  settings.set('tokenizer.ggml.token_type', { type: 'array', element: 'i32', values: types });
  settings.set('tokenizer.ggml.merges', { type: 'array', element: 'string', values: mergesOf(model.merges) });
}

/** BERT's pieces: those that begin a word are marked in place of those that continue one. */
function writeWordPieces(tokenizer: JsonObject, { size, pre }: VocabularySource, settings: Settings): void {
  const model = isObject(tokenizer.model) ? tokenizer.model : {};
  const { type, vocab, continuing_subword_prefix: prefix = CONTINUED } = model;
  if (type !== 'WordPiece' || prefix !== CONTINUED || !isObject(vocab)) {
    const found = `${String(type)} with ${JSON.stringify(prefix)}`;
    fail('CONVERT_UNSUPPORTED', { what: `${TOKENIZER}: model`, found, expected: 'WordPiece with "##"' });
  }
  const { tokens, types } = numbered(vocab, tokenizer.added_tokens, size);
  const values = tokens.map((token, id) =>
    types[id] === CONTROL ? token : token.startsWith(CONTINUED) ? token.slice(2) : `\u2581${token}`,
  );
  settings.set('tokenizer.ggml.model', { type: 'string', value: 'bert' });
  settings.set('tokenizer.ggml.pre', { type: 'string', value: pre ?? WORD_PIECES_NAME });
  settings.set('tokenizer.ggml.tokens', { type: 'array', element: 'string', values });
  settings.set('tokenizer.ggml.token_type', { type: 'array', element: 'i32', values: types });
}

/** The tokens by their numbers, and their kinds. */
function numbered(
  vocab: JsonObject,
  beside: unknown,
  size: number | undefined,
): { tokens: string[]; types: number[] } {
  const added = addedTokens(beside);
  const ids = Object.entries(vocab).map(([text, id]) => [Number(id), text] as const);
  const texts = new Map([...ids, ...added.map(({ id, text }) => [id, text] as const)]);
  const most = [...texts.keys()].reduce((a, b) => Math.max(a, b), -1) + 1;
  const count = size ?? most;
  if (most > count) invalid(TOKENIZER, `token ${most - 1}`, `ids below vocab_size, ${count}`);
  const types = Array.from({ length: count }, (_, id): number => (texts.has(id) ? NORMAL : UNUSED));
  const tokens = Array.from({ length: count }, (_, id) => texts.get(id) ?? `[PAD${id}]`);
  for (const { id, text, special } of added) {
    types[id] = special ? CONTROL : USER_DEFINED;
    tokens[id] = special ? text : text.replaceAll('\u2581', ' ');
  }
  return { tokens, types };
}

/** Pairs in either of the two spellings; a space within a token is spelled as in the alphabet of bytes. */
function mergesOf(merges: unknown): string[] {
  if (!Array.isArray(merges)) return invalid(TOKENIZER, 'no merges', 'a list of pairs');
  return merges.map((merge: unknown) =>
    Array.isArray(merge)
      ? merge.map((part) => String(part).replaceAll(' ', '\u0120')).join(' ')
      : String(merge),
  );
}

interface AddedToken {
  readonly id: number;
  readonly text: string;
  readonly special: boolean;
}

/** Tokens beside the vocabulary: a list, or by id. */
function addedTokens(value: unknown): AddedToken[] {
  const entries = Array.isArray(value) ? value : Object.entries(isObject(value) ? value : {});
  return entries.flatMap((entry: unknown) => {
    const [key, token] = Array.isArray(entry) ? (entry as [unknown, unknown]) : [undefined, entry];
    if (!isObject(token)) return [];
    const text = String(token.content);
    return [{ id: Number(key ?? token.id), text, special: token.special === true || looksSpecial(text) }];
  });
}

/** Some models have control tokens that are not marked as such; llama.cpp tells them by their spelling. */
function looksSpecial(text: string): boolean {
  return (
    ['<pad>', '<mask>', '<2mass>', '[@BOS@]'].includes(text) ||
    /^<\|.*\|>$|^<\uff5c.*\uff5c>$|^<unused.*>$/s.test(text)
  );
}
