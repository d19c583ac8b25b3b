import type { EngineCounters } from '../../src/engine/engine-setup.ts';
import type { LanguageModel } from '../../src/engine/language-model.ts';
import type { TextEnd } from '../../src/engine/text-stream.ts';

/** The workload: one sequence alone, then twice as many as there are slots, which end at different times. */
export interface Workload {
  readonly slots: number;
  readonly promptTokens: number;
  readonly generatedTokens: number;
}

/** The results of a round of the workload. */
export interface Measured {
  /** Milliseconds per token of one sequence alone. */
  readonly tokenMs: number;
  /** Generated tokens per second of all together. */
  readonly throughput: number;
  /** Mean milliseconds from a request to its end. */
  readonly requestMs: number;
  /** Shares and sizes of the round. */
  readonly hitRate: number;
  readonly bytesBackPerToken: number;
  readonly bytesUpPerStep: number;
}

const GREEDY = { temperature: 0, ignoreEnd: true } as const;

/** Runs a round. */
export async function measure(model: LanguageModel, of: Workload): Promise<Measured> {
  const before = model.counters;
  const alone = await runAlone(model, of);
  const all = await runAll(model, of);
  return {
    tokenMs: (1000 * alone.generateSeconds) / (of.generatedTokens - 1),
    throughput: all.generated / all.seconds,
    requestMs: all.requestMs,
    ...countersBetween(before, model.counters, all.generated + of.generatedTokens),
  };
}

/** Generates one sequence from a single token. */
export async function runAlone(model: LanguageModel, { generatedTokens }: Workload): Promise<TextEnd> {
  model.reset();
  const stream = model.generate(tokens(model, 1, 0), { ...GREEDY, maxTokens: generatedTokens });
  await stream.text();
  return stream.end;
}

/** Generates twice as many sequences as there are slots. */
export async function runAll(
  model: LanguageModel,
  { slots, promptTokens, generatedTokens }: Workload,
): Promise<{ generated: number; seconds: number; requestMs: number }> {
  model.reset();
  let generated = 0;
  let waited = 0;
  const begin = performance.now();
  await Promise.all(
    Array.from({ length: 2 * slots }, async (_, i) => {
      // From a quarter of the longest to all of it.
      const maxTokens = Math.ceil((generatedTokens * (1 + ((i * 7) % 4))) / 4);
      const stream = model.generate(tokens(model, promptTokens, 1 + i), { ...GREEDY, maxTokens });
      await stream.text();
      generated += stream.end.generatedTokens;
      waited += performance.now() - begin;
    }),
  );
  const seconds = (performance.now() - begin) / 1000;
  return { generated, seconds, requestMs: waited / (2 * slots) };
}

/** Milliseconds to the first token of a prompt for each row capacity of the device, each for the first time. */
export async function firstTokens(model: LanguageModel): Promise<number[]> {
  const times: number[] = [];
  for (const { shape } of model.plan.plans) {
    const count = Math.min(shape.rows, model.context - 1);
    model.reset();
    const stream = model.generate(tokens(model, count, shape.rows), { ...GREEDY, maxTokens: 1 });
    await stream.text();
    times.push(1000 * stream.end.promptSeconds);
  }
  return times;
}

function countersBetween(before: EngineCounters, after: EngineCounters, generated: number) {
  const hits = after.preparedHits - before.preparedHits;
  const wanted = hits + after.preparedMisses - before.preparedMisses;
  return {
    hitRate: wanted === 0 ? 1 : hits / wanted,
    bytesBackPerToken: (after.bytesBack - before.bytesBack) / generated,
    bytesUpPerStep: (after.bytesUp - before.bytesUp) / (after.steps - before.steps),
  };
}

/** Random ids, different for each seed. */
function tokens(model: LanguageModel, count: number, seed: number): number[] {
  const { vocabularySize } = model.tokenizer;
  return Array.from({ length: count }, (_, i) => (i * 7919 + seed * 104_729 + 1) % vocabularySize);
}
