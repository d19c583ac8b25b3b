import { throwIfAborted } from '../base/errors.ts';
import type { LanguageModel } from './language-model.ts';

/** What is measured: prompts read and tokens generated, each so many times. */
export interface BenchmarkOptions {
  /** Tokens of the prompt that is read; 0 leaves this test out. */
  readonly promptTokens: number;
  /** Tokens that are generated greedily from an empty context; 0 leaves this test out. */
  readonly generatedTokens: number;
  readonly repetitions: number;
  readonly signal?: AbortSignal | undefined;
}

/** Speeds of one test, in tokens a second. */
export interface BenchmarkResult {
  /** `pp512`: reading a prompt of 512 tokens; `tg128`: generating 128 tokens. */
  readonly test: string;
  readonly median: number;
  readonly slowest: number;
  readonly fastest: number;
  readonly all: readonly number[];
}

/** Positions that a model needs for a benchmark. */
export function benchmarkContext({ promptTokens, generatedTokens }: BenchmarkOptions): number {
  return Math.max(promptTokens, generatedTokens + 1) + 1;
}

/**
 * Measures a model's speed as llama-bench does: `pp` reads a prompt into an empty context, `tg` generates from an empty
 * context; a first round of each is not counted. Yields a result a test. Rejects with `ABORTED` and as `generate`.
 */
export async function* runBenchmark(
  model: LanguageModel,
  options: BenchmarkOptions,
): AsyncGenerator<BenchmarkResult, void> {
  const { promptTokens, generatedTokens } = options;
  if (promptTokens > 0) {
    yield await measure(`pp${promptTokens}`, options, () => promptSpeed(model, promptTokens));
  }
  if (generatedTokens > 0) {
    yield await measure(`tg${generatedTokens}`, options, () => generationSpeed(model, generatedTokens));
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

/** Ids all over the vocabulary, always the same. */
function someTokens(model: LanguageModel, count: number): number[] {
  return Array.from({ length: count }, (_, i) => (i * 7919 + 1) % model.tokenizer.vocabularySize);
}

/** The middle of sorted numbers; 0 of none. */
function medianOf(sorted: readonly number[]): number {
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? 0)) / 2;
}
