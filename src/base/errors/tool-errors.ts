import { entry } from './entry.ts';

/** Failures of the tools that evaluate models: goldens, perplexity, benchmarks. */
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
} as const;
