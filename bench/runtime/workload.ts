import type { EngineCounters } from '../../src/engine/engine-parts.ts';
import type { LanguageModel } from '../../src/engine/language-model.ts';

/** What is run: one sequence alone, then twice as many as there are slots, which end at different times. */
export interface Workload {
  readonly slots: number;
  readonly promptTokens: number;
  readonly generatedTokens: number;
}

/** What a round of the workload took. */
export interface Measured {
  /** Milliseconds a token of one sequence alone. */
  readonly tokenMs: number;
  /** Generated tokens a second of all together. */
  readonly throughput: number;
  /** Mean milliseconds from a request of those to its end. */
  readonly requestMs: number;
  /** Shares and sizes of the round. */
  readonly hitRate: number;
  readonly bytesBackPerToken: number;
}

/** Runs a round. */
export async function measure(model: LanguageModel, of: Workload): Promise<Measured> {
  const options = { temperature: 0, ignoreEnd: true } as const;
  const before = model.counters;
  model.reset();
  const alone = model.generate(tokens(model, 1, 0), { ...options, maxTokens: of.generatedTokens });
  await alone.text();
  model.reset();
  let generated = 0;
  let waited = 0;
  const begin = performance.now();
  await Promise.all(
    Array.from({ length: 2 * of.slots }, async (_, i) => {
      // From a quarter of the longest to all of it.
      const maxTokens = Math.ceil((of.generatedTokens * (1 + ((i * 7) % 4))) / 4);
      const stream = model.generate(tokens(model, of.promptTokens, 1 + i), { ...options, maxTokens });
      await stream.text();
      generated += stream.end.generatedTokens;
      waited += performance.now() - begin;
    }),
  );
  const seconds = (performance.now() - begin) / 1000;
  return {
    tokenMs: (1000 * alone.end.generateSeconds) / (of.generatedTokens - 1),
    throughput: generated / seconds,
    requestMs: waited / (2 * of.slots),
    ...countersBetween(before, model.counters, generated + of.generatedTokens),
  };
}

function countersBetween(before: EngineCounters, after: EngineCounters, generated: number) {
  const hits = after.preparedHits - before.preparedHits;
  const wanted = hits + after.preparedMisses - before.preparedMisses;
  return {
    hitRate: wanted === 0 ? 1 : hits / wanted,
    bytesBackPerToken: (after.bytesBack - before.bytesBack) / generated,
  };
}

/** Ids all over the vocabulary, others for each seed. */
function tokens(model: LanguageModel, count: number, seed: number): number[] {
  const { vocabularySize } = model.tokenizer;
  return Array.from({ length: count }, (_, i) => (i * 7919 + seed * 104_729 + 1) % vocabularySize);
}
