import { throwIfAborted } from '../base/errors.ts';
import type { LanguageModel } from './language-model.ts';

/** What is measured: prompts read and tokens generated, each so many times. */
export interface BenchmarkOptions {
  /** Tokens of the prompt that is read; 0 leaves this test out. */
  readonly promptTokens: number;
  /** Tokens that are generated greedily from an empty context; 0 leaves this test out. */
  readonly generatedTokens: number;
  /** Sequences that generate at once in a test of their own; 1 leaves it out. */
  readonly parallel: number;
  /** Tokens of the prompts of those sequences. */
  readonly depth: number;
  readonly repetitions: number;
  readonly signal?: AbortSignal | undefined;
}

/** Speeds of one test, in tokens a second. */
export interface BenchmarkResult {
  /**
   * `pp512`: reading a prompt of 512 tokens; `tg128`: generating 128 tokens; `64 x tg128`: generating 128 tokens in each of
   * 64 sequences, speeds summed up.
   */
  readonly test: string;
  readonly median: number;
  readonly slowest: number;
  readonly fastest: number;
  readonly all: readonly number[];
}

/** Positions that a model needs for a benchmark. */
export function benchmarkContext(options: BenchmarkOptions): number {
  const { promptTokens, generatedTokens, parallel, depth } = options;
  const together = parallel > 1 ? depth + generatedTokens + 1 : 0;
  return Math.max(promptTokens, generatedTokens + 1, together) + 1;
}

/**
 * Measures a model's speed as llama-bench does: `pp` reads a prompt into an empty context, `tg` generates from an empty
 * context, and as its batched bench, with several sequences at once; a first round of each is not counted. Yields a result a test. Rejects with `ABORTED` and as `generate`.
 */
export async function* runBenchmark(
  model: LanguageModel,
  options: BenchmarkOptions,
): AsyncGenerator<BenchmarkResult, void> {
  const { promptTokens, generatedTokens, parallel } = options;
  if (promptTokens > 0) {
    yield await measure(`pp${promptTokens}`, options, () => promptSpeed(model, promptTokens));
  }
  if (generatedTokens > 0) {
    yield await measure(`tg${generatedTokens}`, options, () => generationSpeed(model, generatedTokens));
  }
  if (generatedTokens > 0 && parallel > 1) {
    yield await measure(`${parallel} x tg${generatedTokens}`, options, () => parallelSpeed(model, options));
  }
}

async function measure(
  test: string,
  { repetitions, signal }: BenchmarkOptions,
  speed: () => Promise<number>,
): Promise<BenchmarkResult> {
  const all: number[] = [];
  for (let round = 0; round <= repetitions; round++) {
    throwIfAborted(signal, 'the benchmark');
    const found = await speed();
    if (round > 0) all.push(found);
  }
  const sorted = [...all].sort((a, b) => a - b);
  return { test, median: medianOf(sorted), slowest: sorted[0] ?? 0, fastest: sorted.at(-1) ?? 0, all };
}

async function promptSpeed(model: LanguageModel, count: number): Promise<number> {
  model.reset();
  const stream = model.generate(someTokens(model, count), { temperature: 0, maxTokens: 1, ignoreEnd: true });
  await stream.text();
  return count / stream.end.promptSeconds;
}

async function generationSpeed(model: LanguageModel, count: number): Promise<number> {
  model.reset();
  const options = { temperature: 0, maxTokens: count + 1, ignoreEnd: true };
  const stream = model.generate(someTokens(model, 1), options);
  await stream.text();
  // The first token comes with the prompt.
  return count / stream.end.generateSeconds;
}

/** Tokens a second of all sequences, from when the last has begun to generate until the first is complete. */
async function parallelSpeed(model: LanguageModel, options: BenchmarkOptions): Promise<number> {
  const { parallel, depth, generatedTokens, signal } = options;
  model.reset();
  let begun = 0;
  let counted = 0;
  let from = 0;
  let to = Number.POSITIVE_INFINITY;
  const one = async (offset: number): Promise<void> => {
    const prompt = someTokens(model, depth, offset);
    const stream = model.generate(prompt, {
      temperature: 0,
      maxTokens: generatedTokens + 1,
      ignoreEnd: true,
      signal,
    });
    let first = true;
    for await (const { token } of stream) {
      if (!token) continue;
      if (first && ++begun === parallel) from = performance.now();
      first = false;
      if (begun === parallel && performance.now() < to) counted++;
    }
    to = Math.min(to, performance.now());
  };
  await Promise.all(Array.from({ length: parallel }, (_, i) => one(i * depth)));
  return counted / ((to - from) / 1000);
}

/** Ids all over the vocabulary, always the same. */
function someTokens(model: LanguageModel, count: number, from = 0): number[] {
  return Array.from({ length: count }, (_, i) => ((from + i) * 7919 + 1) % model.tokenizer.vocabularySize);
}

/** The middle of sorted numbers; 0 of none. */
function medianOf(sorted: readonly number[]): number {
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? 0)) / 2;
}
