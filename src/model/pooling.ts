/**
 * How the rows of a text are pooled into an embedding, in the order of their numbers in `pooling_type`: not at all (each
 * row separately), their mean, the first, or the last. With `rank`, a classifier turns one of them into scores.
 */
export const POOLINGS = ['none', 'mean', 'first', 'last', 'rank'] as const;

/** One of `POOLINGS`. */
export type Pooling = (typeof POOLINGS)[number];
