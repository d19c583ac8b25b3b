import { fail } from '../base/errors.ts';
import { PRETOKENIZER_KINDS } from '../text/pretokenizer-kinds.ts';
import { isObject, type JsonObject } from './checkpoint.ts';

const r = String.raw;
const ANY_CASE = r`(?i:'s|'t|'re|'ve|'m|'ll|'d)`;
const LETTERS = r`[^\r\n\p{L}\p{N}]?\p{L}+`;
const PUNCTUATION = r` ?[^\s\p{L}\p{N}]+[\r\n]*`;
const SPACES = r`\s*[\r\n]+|\s+(?!\S)|\s+`;
const UPPER = r`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`;
const LOWER = r`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`;
const CASED = r`[^\r\n\p{L}\p{N}]?${UPPER}*${LOWER}+|[^\r\n\p{L}\p{N}]?${UPPER}+${LOWER}*`;
const ENDED = r`(?i:'s|'t|'re|'ve|'m|'ll|'d)?`;
const CASED_ENDED = r`[^\r\n\p{L}\p{N}]?${UPPER}*${LOWER}+${ENDED}|[^\r\n\p{L}\p{N}]?${UPPER}+${LOWER}*${ENDED}`;
const GPT2 = r`'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;

/** Names of `tokenizer.ggml.pre` by the patterns of `tokenizer.json`, in their order; `bytes` is GPT-2's own splitter. */
const NAMES: ReadonlyMap<string, string> = new Map(
  (
    [
      ['gpt-2', 'bytes'],
      ['gpt-2', GPT2],
      ['smollm', 'digits', 'bytes'],
      ['dbrx', [ANY_CASE, LETTERS, r`\p{N}{1,3}`, PUNCTUATION, SPACES].join('|')],
      ['llama-bpe', [ANY_CASE, LETTERS, r`\p{N}{1,3}`, PUNCTUATION, SPACES].join('|')],
      ['qwen2', [ANY_CASE, LETTERS, r`\p{N}`, PUNCTUATION, SPACES].join('|')],
      [
        'qwen35',
        [
          ...[ANY_CASE, r`[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+`, r`\p{N}`],
          ...[r` ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*`, SPACES],
        ].join('|'),
      ],
      ['gpt-4o', [CASED_ENDED, r`\p{N}{1,3}`, r` ?[^\s\p{L}\p{N}]+[\r\n/]*`, SPACES].join('|')],
      ['tekken', [CASED, r`\p{N}`, r` ?[^\s\p{L}\p{N}]+[\r\n/]*`, SPACES].join('|')],
    ] as const
  ).map(([name, ...patterns]) => [keyOf(PRETOKENIZER_KINDS[name]?.ignoreMerges ?? false, patterns), name]),
);

/**
 * The name under which llama.cpp knows the way in which a byte-pair tokenizer splits texts, by its patterns. Throws
 * `CONVERT_UNSUPPORTED` for one that is not known here: a wrong one would split some texts wrongly, and nobody would notice.
 */
export function pretokenizerName(tokenizer: JsonObject): string {
  const normalizer = isObject(tokenizer.normalizer) ? String(tokenizer.normalizer.type) : 'NFC';
  if (normalizer !== 'NFC') {
    fail('CONVERT_UNSUPPORTED', { what: 'normalizer', found: normalizer, expected: 'none, or NFC' });
  }
  const patterns = patternsOf(tokenizer.pre_tokenizer);
  const whole = isObject(tokenizer.model) && tokenizer.model.ignore_merges === true;
  const name = NAMES.get(keyOf(whole, patterns));
  if (name !== undefined) return name;
  const expected = `one of ${[...new Set(NAMES.values())].join(', ')}; or name it with --pre`;
  return fail('CONVERT_UNSUPPORTED', {
    what: 'pre-tokenizer',
    found: `${patterns.join(' then ')}${whole ? ', whole words first' : ''}`,
    expected,
  });
}

/** `whole` says that a word which is itself a token is not split, whatever the merges say. */
function keyOf(whole: boolean, patterns: readonly string[]): string {
  return JSON.stringify([whole, ...patterns]);
}

/** What splits texts, one after another. */
function patternsOf(value: unknown): string[] {
  if (!isObject(value)) return [];
  if (value.type === 'Sequence') return asList(value.pretokenizers).flatMap(patternsOf).filter(unlessDone);
  if (value.type === 'ByteLevel') return value.use_regex === false ? [] : ['bytes'];
  if (value.type === 'Digits') return [value.individual_digits === true ? 'digits' : 'numbers'];
  const pattern = isObject(value.pattern) ? (value.pattern.Regex ?? value.pattern.String) : undefined;
  if (value.type === 'Split' && value.behavior === 'Isolated' && value.invert !== true)
    return [String(pattern)];
  return [JSON.stringify(value)];
}

/** GPT-2's splitter finds nothing to split in the pieces of a finer pattern. */
function unlessDone(pattern: string, index: number, all: readonly string[]): boolean {
  return pattern !== 'bytes' || index === 0 || all[index - 1] === 'digits';
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
