import { entry } from './entry.ts';

/** Failures of constrained text: languages, parsers, masks. */
export const grammarErrors = {
  GRAMMAR_TOO_COSTLY: entry<{ what: string; reason: string }>(
    400,
    'A grammar needs more work or memory than it is allowed.',
    'Simplify the schema, pattern or grammar: fewer and smaller counts, less nesting, fewer overlapping alternatives.',
    (p) => `${p.what}: ${p.reason}`,
  ),
  GRAMMAR_DEAD_END: entry<{ reason: string }>(
    422,
    'A constrained text reached a point where no token can follow.',
    'Loosen the grammar at that point, or use a model whose vocabulary can spell what the grammar requires.',
    (p) => `the text cannot continue: ${p.reason}`,
  ),
} as const;
