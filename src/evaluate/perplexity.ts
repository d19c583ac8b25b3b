import { fail, invariant } from '../base/errors.ts';
import type { PositionLogits } from '../runtime/forced-logits.ts';
import { logSumExp } from './log-likelihood.ts';

/** How a text is split for perplexity. */
export interface PerplexityChunking {
  /** Tokens per chunk. */
  readonly context: number;
  /** Replaces the first token of each chunk; undefined if the model has no beginning-of-text token. */
  readonly begin: number | undefined;
  /** Maximum number of chunks. */
  readonly chunks?: number | undefined;
}

/** The estimate after some chunks. */
export interface PerplexityEstimate {
  readonly chunk: number;
  readonly chunks: number;
  /** Tokens that were predicted. */
  readonly tokens: number;
  readonly perplexity: number;
  /** One standard error of the perplexity. */
  readonly error: number;
}

/** Logits at the positions of `ids` from `from` on. */
export type Evaluate = (ids: readonly number[], from: number) => AsyncIterable<PositionLogits>;

/**
 * Splits a text's tokens like llama.cpp's perplexity tool: whole chunks only, at least two. Throws `TEXT_TOO_SHORT`.
 */
export function perplexityChunks(ids: readonly number[], of: PerplexityChunking): number[][] {
  const { context, begin } = of;
  if (!Number.isSafeInteger(context) || context < 4) {
    fail('INVALID_ARGUMENT', { name: 'context', found: `${context}`, expected: 'at least 4 tokens' });
  }
  if (ids.length < 2 * context) fail('TEXT_TOO_SHORT', { tokens: ids.length, needed: 2 * context });
  const count = Math.min(Math.floor(ids.length / context), of.chunks ?? Number.POSITIVE_INFINITY);
  return Array.from({ length: count }, (_, index) => {
    const chunk = ids.slice(index * context, (index + 1) * context);
    if (begin !== undefined) chunk[0] = begin;
    return chunk;
  });
}

/**
 * Perplexity over chunks, with an estimate after each: the first half of a chunk is only context; every token of the
 * second half except its first is predicted from those before it (llama.cpp's method).
 */
export async function* estimatePerplexity(
  chunks: readonly (readonly number[])[],
  evaluate: Evaluate,
): AsyncGenerator<PerplexityEstimate, void> {
  let tokens = 0;
  let sum = 0;
  let squares = 0;
  for (const [index, chunk] of chunks.entries()) {
    // The logits after the last token are not needed.
    const given = chunk.slice(0, -1);
    for await (const { position, logits } of evaluate(given, chunk.length >> 1)) {
      const next = chunk[position + 1];
      invariant(next !== undefined, 'a predicted token follows every position');
      const surprise = logSumExp(logits) - (logits[next] ?? Number.NaN);
      tokens++;
      sum += surprise;
      squares += surprise * surprise;
    }
    const mean = sum / tokens;
    const variance = Math.max(0, squares / tokens - mean * mean);
    const perplexity = Math.exp(mean);
    const error = perplexity * Math.sqrt(variance / (tokens - 1));
    yield { chunk: index + 1, chunks: chunks.length, tokens, perplexity, error };
  }
}
