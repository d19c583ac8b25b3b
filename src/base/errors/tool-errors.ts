import { entry } from './entry.ts';

/** Failures of the tools that judge models: goldens, perplexity, benchmarks. */
export const toolErrors = {
  GOLDEN_INVALID: entry<{ line: number; found: string; expected: string }>(
    400,
    'A golden file is not what forced decoding can be compared with.',
    'Give a file with one JSON object a line: ids, lse, top and next, and from where the first positions are left out.',
    (p) => `line ${p.line} of the golden: found ${p.found}, expected ${p.expected}`,
  ),
  TEXT_TOO_SHORT: entry<{ tokens: number; needed: number }>(
    400,
    'The text is too short to be judged.',
    'Give a longer text, or a smaller --context.',
    (p) => `the text has ${p.tokens} tokens, perplexity needs at least ${p.needed}`,
  ),
} as const;
