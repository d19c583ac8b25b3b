import { entry } from './entry.ts';

/** Failures of the tools that evaluate and convert models: goldens, perplexity, checkpoints. */
export const toolErrors = {
  GOLDEN_INVALID: entry<{ line: number; found: string; expected: string }>(
    400,
    'A golden file cannot be used for forced decoding.',
    'Use a file with one JSON object per line: ids, lse, top and next, and from if the first positions are left out.',
    (p) => `line ${p.line} of the golden: found ${p.found}, expected ${p.expected}`,
  ),
  TEXT_TOO_SHORT: entry<{ tokens: number; needed: number }>(
    400,
    'The text is too short for perplexity.',
    'Use a longer text or a smaller --context.',
    (p) => `the text has ${p.tokens} tokens, perplexity needs at least ${p.needed}`,
  ),
  CHECKPOINT_INVALID: entry<{ file: string; found: string; expected: string }>(
    422,
    'A checkpoint that should be converted lacks a file or a setting, or has a broken one.',
    'Download the repository again, with config.json, the tokenizer and all safetensors.',
    (p) => `${p.file}: found ${p.found}, expected ${p.expected}`,
  ),
  CONVERT_UNSUPPORTED: entry<{ what: string; found: string; expected: string }>(
    422,
    'A checkpoint has something that is not converted: its file would compute something else.',
    "Use a GGUF file that others made of this model, or llama.cpp's convert_hf_to_gguf.py.",
    (p) => `${p.what}: found ${p.found}, expected ${p.expected}`,
  ),
} as const;
