/**
 * The patterns of the models' own tokenizers, as regular expression sources for the `u` flag, in which `\s` means
 * Unicode's White_Space. Where llama.cpp only approximates a pattern, because its engine lacks Unicode's letter cases
 * or scripts, this is the model's pattern.
 */
const r = String.raw;

const CONTRACTION = r`'(?:[stmd]|re|ve|ll)`;
const ANY_CASE_CONTRACTION = r`'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])`;
const LINES = r`\s*[\r\n]+`;
const SPACES = r`\s+(?!\S)|\s+`;

/** GPT-2: words, numbers and punctuation, each with one space before it. */
export const GPT2 = r`${CONTRACTION}| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|${SPACES}`;

/** The parts of cl100k's pattern that many models vary. */
interface WordPattern {
  readonly contraction?: string;
  readonly word?: string;
  readonly digits?: string;
  readonly punctuation?: string;
  readonly spaces?: string;
}

function wordPattern(parts: WordPattern): string {
  const {
    contraction = ANY_CASE_CONTRACTION,
    word = r`[^\r\n\p{L}\p{N}]?\p{L}+`,
    digits = r`\p{N}`,
    punctuation = r` ?[^\s\p{L}\p{N}]+[\r\n]*`,
    spaces = SPACES,
  } = parts;
  return [contraction, word, digits, punctuation, LINES, spaces].filter((part) => part !== '').join('|');
}

/** Llama 3 and cl100k: up to three digits together. */
export const LLAMA3 = wordPattern({ digits: r`\p{N}{1,3}` });

/** Qwen 2: single digits. */
export const QWEN2 = wordPattern({});

/** Qwen 3.5: combining marks belong to the word. */
export const QWEN35 = wordPattern({
  word: r`[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+`,
  punctuation: r` ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*`,
});

/** MiniCPM 5: numbers stay whole. */
export const MINICPM5 = wordPattern({ digits: r`\p{N}+` });

/** Jais 2: whitespace in powers of two. */
export const JAIS2 = wordPattern({
  digits: r`\p{N}{1,3}`,
  spaces: r`${[512, 256, 128, 64, 32, 16, 8, 4].map((n) => r`\s{${n}}(?!\S)`).join('|')}|\s{1,2}(?!\S)|\s`,
});

/** Seed-Coder: line breaks never join punctuation. */
export const SEED_CODER = wordPattern({ punctuation: r` ?[^\s\p{L}\p{N}]+` });

/** In Turkish, suffixes after an apostrophe are not contractions. */
export const UFAKZEKA = wordPattern({ contraction: '' });

/** EXAONE MoE: words joined by single spaces are one piece. */
export const EXAONE_MOE = wordPattern({
  word: r`[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+`,
  punctuation: r` ?[^\s\p{L}\p{N}]+[\r\n/]?`,
});

const UPPER = r`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`;
const LOWER = r`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`;

/** A word in o200k: it ends where lower case changes to upper case. */
function casedWord(ending: string, upper = UPPER, lower = LOWER): string {
  const before = r`[^\r\n\p{L}\p{N}]?`;
  return `${before}${upper}*${lower}+${ending}|${before}${upper}+${lower}*${ending}`;
}

const O200K_PUNCTUATION = r` ?[^\s\p{L}\p{N}]+[\r\n/]*`;

/** GPT-4o (o200k), Llama 4, MiniMax M2. */
export const O200K = wordPattern({
  contraction: '',
  word: casedWord(`(?:${ANY_CASE_CONTRACTION})?`),
  digits: r`\p{N}{1,3}`,
  punctuation: O200K_PUNCTUATION,
});

/** Youtu: o200k with single digits. */
export const YOUTU = wordPattern({
  contraction: '',
  word: casedWord(`(?:${ANY_CASE_CONTRACTION})?`),
  punctuation: O200K_PUNCTUATION,
});

/** Mistral's Tekken: o200k without contractions, with single digits. */
export const TEKKEN = wordPattern({ contraction: '', word: casedWord(''), punctuation: O200K_PUNCTUATION });

const NOT_HAN = r`(?!\p{Script=Han})`;

/** Kimi K2: o200k with separate runs of Chinese characters. */
export const KIMI_K2 = `\\p{Script=Han}+|${wordPattern({
  contraction: '',
  word: casedWord(`(?:${ANY_CASE_CONTRACTION})?`, `(?:${NOT_HAN}${UPPER})`, `(?:${NOT_HAN}${LOWER})`),
  digits: r`\p{N}{1,3}`,
})}`;

const ASCII_PUNCTUATION = r`[!-\/:-@\[-\x60\{-~]`;
const DEEPSEEK_WORD = r`${ASCII_PUNCTUATION}[A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+`;

/** DeepSeek V3, after its numbers and CJK are split off. */
export const DEEPSEEK_V3 = r`${DEEPSEEK_WORD}| ?[\p{P}\p{S}]+[\r\n]*|${LINES}|${SPACES}`;

/** Spark 2.5: like DeepSeek V3, with single line breaks. */
export const SPARK = r`${DEEPSEEK_WORD}| ?[\p{P}\p{S}]+|[\r\n]|${SPACES}`;

/** Chinese and Japanese as DeepSeek V3 lists them. */
export const CJK = r`[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+`;

/** Chinese, Japanese and Korean as the first DeepSeek models list them. */
export const DEEPSEEK_CJK = r`[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+`;

const DEEPSEEK_LATER = [
  r`\u0560-\u0588\u10c7-\u10ff\u1c80-\u1c8a\u2d00-\u2d2d\ua790-\ua7ff\uab30-\uab68`,
  r`\u{10570}-\u{105bc}\u{10d50}-\u{10d85}\u{16e40}-\u{16ed3}\u{1d400}-\u{1df2a}`,
].join('');

/** Cased letters as of the Unicode version of the first DeepSeek model, without those added later. */
export const DEEPSEEK_LETTERS = r`\s?(?:(?![${DEEPSEEK_LATER}])[\p{LC}\u0295])+`;

/** The punctuation of the first DeepSeek model, including full-width forms and general quotation marks. */
export const DEEPSEEK_PUNCTUATION = r`\s?[!-\/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+`;

/** Words of Bloom and its relatives end at whitespace and at the punctuation of several scripts. */
export const BLOOM = r` ?[^\(\s\|.,!?…。，、।۔،\)]+`;

/** The content of one line, or a run of line breaks. */
export const LINE_RUNS = r`[^\n]+|\n+`;

/** Scripts that AFMoE splits off: CJK, half-width kana, Thai, Lao, Khmer, Myanmar, Hangul. */
export const AFMOE_SCRIPTS = [
  r`[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\u3040-\u309f\u30a0-\u30ff\uff65-\uff9f\u2f00-\u2fdf`,
  r`\u0e40-\u0e7f\u0e80-\u0eff\u1780-\u17ff\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9ff\uac00-\ud7af\u1100-\u11ff]+`,
].join('');

/** Korean, Chinese punctuation, Bopomofo, and CJK, each split off. */
export const YOUTU_SCRIPTS = [
  r`[\uac00-\ud7a3\u3131-\u318e]+`,
  r`[！…“”‘’—：；，、\u3001-\u303f\ufe30-\ufe4f]+`,
  r`[\u3105-\u312f]+`,
  CJK,
].join('|');
