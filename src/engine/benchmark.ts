import { throwIfAborted } from '../base/errors.ts';
import type { Cost } from '../ops/index.ts';
import type { LanguageModel } from './language-model.ts';
import { SequenceBatch } from './sequence-batch.ts';

/** What is measured: prompts read and tokens generated, each so many times. */
export interface BenchmarkOptions {
  /** Tokens of the prompt that is read; 0 leaves this test out. */
  readonly promptTokens: number;
  /** Tokens that are generated greedily from an empty context; 0 leaves this test out. */
  readonly generatedTokens: number;
  /** Sequences that generate at once; 0 leaves this test out. */
  readonly sequences: number;
  /** Positions that each of them has behind it. */
  readonly depth: number;
  readonly repetitions: number;
  readonly signal?: AbortSignal | undefined;
}

/** Speeds of one test, in tokens a second. */
export interface BenchmarkResult {
  /** `pp512`: reading a prompt of 512 tokens; `tg128`: generating 128 tokens; `64xtg at 192`: by 64 sequences at once. */
  readonly test: string;
  readonly median: number;
  readonly slowest: number;
  readonly fastest: number;
  readonly all: readonly number[];
  /** What the median moves and computes a second at least. */
  readonly bytesPerSecond: number;
  readonly flopsPerSecond: number;
  /** What the host spent on queueing a step, where a test has steps worth counting. */
  readonly submitMicroseconds?: number;
}

/** One round of a test: tokens a second, and seconds that queueing a step took. */
interface Round {
  readonly speed: number;
  readonly submitSeconds?: number;
}

/** Steps of one round of the test of several sequences. */
const BATCH_STEPS = 16;

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
  const { promptTokens, generatedTokens, sequences, depth } = options;
  if (promptTokens > 0) {
    const rows = Math.min(promptTokens, model.batch);
    const cost = model.cost({ rows, outputs: 1, attended: (promptTokens + 1) / 2 });
    const test = { name: `pp${promptTokens}`, tokens: rows, cost };
    yield await measure(test, options, () => promptSpeed(model, promptTokens));
  }
  if (generatedTokens > 0) {
    const cost = model.cost({ rows: 1, outputs: 1, attended: (generatedTokens + 3) / 2 });
    const test = { name: `tg${generatedTokens}`, tokens: 1, cost };
    yield await measure(test, options, () => generationSpeed(model, generatedTokens));
  }
  if (sequences > 0) {
    await using batch = await openSequences(model, options);
    const cost = batch.batch.cost({
      rows: sequences,
      outputs: sequences,
      attended: depth + ((options.repetitions + 1) * BATCH_STEPS) / 2,
    });
    const test = { name: `${sequences}xtg at ${depth}`, tokens: sequences, cost };
    yield await measure(test, options, () => batchSpeed(batch));
  }
}

/** Several sequences of a model, `depth` positions long, each of other tokens. */
export async function openSequences(
  model: LanguageModel,
  { sequences, depth, repetitions }: BenchmarkOptions,
): Promise<SequenceBatch> {
  const context = depth + 1 + (repetitions + 1) * BATCH_STEPS;
  const batch = await SequenceBatch.open(model.parts, { sequences, context });
  try {
    await batch.read(Array.from({ length: sequences }, (_, slot) => someTokens(model, depth + 1, slot)));
    return batch;
  } catch (error) {
    await batch[Symbol.asyncDispose]();
    throw error;
  }
}

async function measure(
  test: { name: string; tokens: number; cost: Cost },
  { repetitions, signal }: BenchmarkOptions,
  run: () => Promise<Round>,
): Promise<BenchmarkResult> {
  const rounds: Round[] = [];
  for (let round = 0; round <= repetitions; round++) {
    throwIfAborted(signal, 'the benchmark');
    const found = await run();
    if (round > 0) rounds.push(found);
  }
  const all = rounds.map(({ speed }) => speed);
  const sorted = [...all].sort((a, b) => a - b);
  const median = medianOf(sorted);
  const steps = median / test.tokens;
  const submits = rounds.flatMap(({ submitSeconds }) => submitSeconds ?? []).sort((a, b) => a - b);
  return {
    test: test.name,
    median,
    slowest: sorted[0] ?? 0,
    fastest: sorted.at(-1) ?? 0,
    all,
    bytesPerSecond: steps * test.cost.bytes,
    flopsPerSecond: steps * test.cost.flops,
    ...(submits.length > 0 && { submitMicroseconds: 1e6 * medianOf(submits) }),
  };
}

async function promptSpeed(model: LanguageModel, count: number): Promise<Round> {
  model.reset();
  const stream = model.generate(someTokens(model, count), { temperature: 0, maxTokens: 1, ignoreEnd: true });
  await stream.text();
  return { speed: count / stream.end.promptSeconds };
}

async function generationSpeed(model: LanguageModel, count: number): Promise<Round> {
  model.reset();
  const options = { temperature: 0, maxTokens: count + 1, ignoreEnd: true };
  const stream = model.generate(someTokens(model, 1), options);
  await stream.text();
  // The first token comes with the prompt.
  const { generateSeconds, submitSeconds } = stream.end;
  return { speed: count / generateSeconds, submitSeconds: submitSeconds / (count + 1) };
}

async function batchSpeed(batch: SequenceBatch): Promise<Round> {
  const begin = performance.now();
  await batch.step(BATCH_STEPS);
  return { speed: (1000 * BATCH_STEPS * batch.sequences) / (performance.now() - begin) };
}

/** Ids all over the vocabulary, always the same; others for another seed. */
export function someTokens(model: LanguageModel, count: number, seed = 0): number[] {
  const { vocabularySize } = model.tokenizer;
  return Array.from({ length: count }, (_, i) => (i * 7919 + seed * 104_729 + 1) % vocabularySize);
}

/** The middle of sorted numbers; 0 of none. */
function medianOf(sorted: readonly number[]): number {
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? 0)) / 2;
}
