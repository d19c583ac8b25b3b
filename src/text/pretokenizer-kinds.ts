import { fail } from '../base/errors.ts';
import type { SplitRule } from './pretokenizer.ts';
import {
  AFMOE_SCRIPTS,
  BLOOM,
  CJK,
  DEEPSEEK_CJK,
  DEEPSEEK_LETTERS,
  DEEPSEEK_PUNCTUATION,
  DEEPSEEK_V3,
  EXAONE_MOE,
  GPT2,
  JAIS2,
  KIMI_K2,
  LINE_RUNS,
  LLAMA3,
  MINICPM5,
  O200K,
  QWEN2,
  QWEN35,
  SEED_CODER,
  SPARK,
  TEKKEN,
  UFAKZEKA,
  YOUTU,
  YOUTU_SCRIPTS,
} from './pretokenizer-patterns.ts';

/** The meaning of a name in `tokenizer.ggml.pre` for a byte-pair tokenizer. */
export interface PretokenizerKind {
  readonly rules: readonly SplitRule[];
  /** A word that is itself a token is not split, whatever the merges say. */
  readonly ignoreMerges?: boolean;
  /** Whether a text starts with the bos token if the metadata do not say. */
  readonly addBos?: boolean;
  readonly addSeparator?: boolean;
  /** Whether there is no bos token if the metadata name none. */
  readonly withoutBos?: boolean;
  /** Tokens are spelled in plain characters, spaces as U+2581 where `escapesSpaces`, not in the alphabet of bytes. */
  readonly plainCharacters?: boolean;
  readonly escapesSpaces?: boolean;
  /** Whether the file may lack merges. */
  readonly mergesOptional?: boolean;
  /** A run of line breaks that is itself a token is not split. */
  readonly wholeLineBreaks?: boolean;
}

const r = String.raw;
const DIGIT = r`\p{N}`;
const THREE_DIGITS = r`\p{N}{1,3}`;
const NUMBER = r`\p{N}+`;
const CHAMELEON = [
  r`<sentinel:[0-9]+>`,
  r`IMGIMG[A-I]{1,4}Z`,
  r`[\t\n]| {4}| {2}`,
  DIGIT,
  r`[\p{P}!-\/:-@\[-\x60\{-~]`,
  GPT2,
];

const llama3: PretokenizerKind = { rules: [LLAMA3], ignoreMerges: true, addBos: true };
const gpt2: PretokenizerKind = { rules: [GPT2] };
const roberta: PretokenizerKind = { rules: [GPT2], addSeparator: true };
const singleDigits: PretokenizerKind = { rules: [DIGIT, GPT2] };
const qwen2: PretokenizerKind = { rules: [QWEN2] };
const deepseek3: PretokenizerKind = { rules: [THREE_DIGITS, CJK, DEEPSEEK_V3] };
const o200k: PretokenizerKind = { rules: [O200K] };
const cased: PretokenizerKind = { rules: [LLAMA3] };
const glm4: PretokenizerKind = { rules: [LLAMA3], withoutBos: true };
const bloom: PretokenizerKind = { rules: [BLOOM] };
const aya: PretokenizerKind = { rules: [{ digits: r`\p{Nd}+(?![\p{L}\p{N}\p{M}_])` }, O200K] };
const lines: PretokenizerKind = { rules: [LINE_RUNS], plainCharacters: true, escapesSpaces: true };
const gemma4: PretokenizerKind = { ...lines, addBos: true, wholeLineBreaks: true };

/** Every name of `tokenizer.ggml.pre` that llama.cpp knows. */
export const PRETOKENIZER_KINDS: Readonly<Record<string, PretokenizerKind>> = {
  default: { rules: [r`[\p{P}$+<=>^~|]+`, GPT2, NUMBER, '[0-9]{3}'] },
  'llama-bpe': llama3,
  llama3,
  'llama-v3': llama3,
  falcon3: llama3,
  'falcon-h1': llama3,
  pixtral: llama3,
  'midm-2.0': llama3,
  lfm2: llama3,
  'jina-v5-nano': llama3,
  dbrx: cased,
  'smaug-bpe': cased,
  glm4,
  'chatglm-bpe': glm4,
  minicpm5: { rules: [THREE_DIGITS, MINICPM5], ignoreMerges: true },
  'jais-2': { rules: [JAIS2] },
  'deepseek-llm': {
    rules: [r`[\r\n]`, DEEPSEEK_LETTERS, DEEPSEEK_PUNCTUATION, r`\s+$`, DEEPSEEK_CJK, NUMBER],
  },
  'deepseek-coder': { rules: [r`[\r\n]`, r`\s?\p{L}+`, r`\s?\p{P}+`, DEEPSEEK_CJK, DIGIT] },
  'deepseek-v3': deepseek3,
  'hunyuan-dense': deepseek3,
  'joyai-llm': deepseek3,
  hy_v4: deepseek3,
  spark2_5: { rules: [THREE_DIGITS, CJK, SPARK, DIGIT] },
  youtu: { rules: [YOUTU_SCRIPTS, YOUTU], ignoreMerges: true },
  falcon: { rules: [r`[\p{P}$+<=>^~|\x60]+`, GPT2, '[0-9]{3}'] },
  starcoder: singleDigits,
  refact: singleDigits,
  'command-r': singleDigits,
  smollm: singleDigits,
  codeshell: singleDigits,
  exaone: singleDigits,
  'minerva-7b': singleDigits,
  mellum2: singleDigits,
  'gpt-2': gpt2,
  'phi-2': gpt2,
  'jina-es': gpt2,
  'jina-de': gpt2,
  'jina-v2-es': gpt2,
  'jina-v2-de': gpt2,
  gigachat: gpt2,
  'a.x-4.0': gpt2,
  mellum: gpt2,
  'modern-bert': gpt2,
  mpt: gpt2,
  olmo: gpt2,
  jais: gpt2,
  trillion: gpt2,
  exaone4: gpt2,
  'granite-docling': gpt2,
  'jina-v1-en': roberta,
  'jina-v2-code': roberta,
  'roberta-bpe': roberta,
  qwen2,
  'deepseek-r1-qwen': qwen2,
  kormo: qwen2,
  f2llmv2: qwen2,
  megrez: qwen2,
  stablelm2: qwen2,
  hunyuan: qwen2,
  'solar-open': qwen2,
  'grok-2': qwen2,
  bailingmoe: qwen2,
  bailingmoe2: qwen2,
  'llada-moe': qwen2,
  qwen35: { rules: [QWEN35] },
  ufakzeka: { rules: [UFAKZEKA] },
  laguna: { rules: [LINE_RUNS, QWEN2] },
  'poro-chat': bloom,
  bloom,
  'gpt3-finnish': bloom,
  viking: { rules: [BLOOM, DIGIT] },
  tekken: { rules: [TEKKEN], ignoreMerges: true, addBos: true },
  chameleon: { rules: CHAMELEON, addBos: true },
  'gpt-4o': o200k,
  llama4: o200k,
  kanana2: o200k,
  talkie: o200k,
  'minimax-m2': o200k,
  'granite-embed-multi-97m': { rules: [O200K], ignoreMerges: true },
  tiny_aya: aya,
  cohere2moe: aya,
  superbpe: { rules: [NUMBER, { digits: '[0-9]+' }] },
  'seed-coder': { rules: [SEED_CODER] },
  'exaone-moe': { rules: [EXAONE_MOE] },
  'kimi-k2': { rules: [KIMI_K2], mergesOptional: true },
  afmoe: { rules: [{ digits: NUMBER }, AFMOE_SCRIPTS, DEEPSEEK_V3] },
  gemma4,
  'granite-embed-multi-311m': gemma4,
  'sarvam-moe': lines,
  whitespace: { rules: [r`\S+`], plainCharacters: true },
};

/** The kind of that name; older files without the key mean `default`. Throws `PRETOKENIZER_UNKNOWN`. */
export function pretokenizerKind(name: string | undefined): PretokenizerKind {
  const wanted = name === undefined || name === '' ? 'default' : name;
  const kind = Object.hasOwn(PRETOKENIZER_KINDS, wanted) ? PRETOKENIZER_KINDS[wanted] : undefined;
  if (kind === undefined) {
    fail('PRETOKENIZER_UNKNOWN', { found: wanted, known: Object.keys(PRETOKENIZER_KINDS).join(', ') });
  }
  return kind;
}
