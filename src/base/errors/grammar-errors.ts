import { entry } from './entry.ts';

/** Failures of constrained text: languages, parsers, masks. */
export const grammarErrors = {
  GRAMMAR_TOO_COSTLY: entry<{ what: string; reason: string }>(
    400,
    'A grammar asks for more work or memory than is allowed for it.',
    'Simplify the schema, pattern or grammar: fewer and smaller counts, less nesting, fewer overlapping alternatives.',
    (p) => `${p.what}: ${p.reason}`,
  ),
  GRAMMAR_DEAD_END: entry<{ reason: string }>(
    422,
    'A constrained text came to a place from which no token leads on.',
    'Loosen the grammar at that place, or use a model whose vocabulary can spell what the grammar asks for.',
    (p) => `the text cannot go on: ${p.reason}`,
  ),
} as const;
