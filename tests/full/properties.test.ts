import { ALL_RUNS } from '../support/property-runs.ts';

// Read by the files below when they declare their tests.
process.env[ALL_RUNS] = '1';
await import('../grammar/grammar-matcher.test.ts');
await import('../grammar/matches-grammar.test.ts');
await import('../grammar/pattern.test.ts');
await import('../grammar/regular-languages.test.ts');
await import('../grammar/token-masks.test.ts');
await import('../grammar/schema/number-regex.test.ts');
await import('../scheduler/continuous-batcher.test.ts');
