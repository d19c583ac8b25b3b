import { fail, throwIfAborted } from '../base/errors.ts';
import type { Cost } from '../ops/index.ts';
import type { LanguageModel } from '../engine/language-model.ts';
import type { TextEnd } from '../engine/text-stream.ts';

/** What is measured: prompts read and tokens generated, each so many times. */
export interface BenchmarkOptions {
  /** Tokens of the prompt that is read; 0 leaves this test out. */
  readonly promptTokens: number;
  /** Tokens that are generated greedily from an empty context; 0 leaves this test out. */
  readonly generatedTokens: number;
  /** Sequences that generate at once in a test of their own; 1 leaves it out. */
  readonly parallel: number;
  /**
   * Tokens of the prompts that are read before anything is generated, in a test of their own. Default: `DEFAULT_DEPTH` for
   * several sequences, no such test for one.
   */
  readonly depth?: number | undefined;
  readonly repetitions: number;
  /** Generates once more with the speculation that the model was opened for, which is left out otherwise. Default false. */
  readonly speculative?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Speeds of one test, in tokens a second. */
export interface BenchmarkResult {
  /**
   * `pp512`: reading a prompt of 512 tokens; `tg128`: generating 128 tokens; `64 x tg128`: generating 128 tokens in each of
   * 64 sequences at once, whose prompts were read before; `tg128 @ d512`: generating 128 tokens behind a prompt of 512;
   * `tg128 speculative`: with draft tokens.
   */
  readonly test: string;
  readonly median: number;
  readonly slowest: number;
  readonly fastest: number;
  readonly all: readonly number[];
  /** What the median moves and computes a second at least, where each token takes a step. */
  readonly bytesPerSecond: number;
  readonly flopsPerSecond: number;
  /** Of a test with speculation: its median over that of the same without, and how much of the draft tokens was accepted. */
  readonly speculative?: { readonly ratio: number; readonly accepted: number };
}

/** A run of the model: prompts, and how many tokens each is continued by. */
export interface BenchmarkTest {
  readonly name: string;
  readonly prompts: readonly (readonly number[])[];
  readonly generated: number;
  readonly speculative?: true;
}

/** Tokens of the prompts of several sequences unless asked otherwise. */
export const DEFAULT_DEPTH = 128;

/** Positions that a model needs for a benchmark. */
export function benchmarkContext(options: BenchmarkOptions): number {
  const { promptTokens, generatedTokens, parallel } = options;
  const depth = options.depth ?? (parallel > 1 ? DEFAULT_DEPTH : 0);
  return Math.max(promptTokens, depth + generatedTokens + 1) + 1;
}

/** The tests that the options ask for. Throws `INVALID_ARGUMENT` where they contradict each other, or ask for none. */
export function benchmarkTests(model: LanguageModel, options: BenchmarkOptions): BenchmarkTest[] {
  checkTests(options);
  const { promptTokens, generatedTokens, parallel } = options;
  const tests: BenchmarkTest[] = [];
  if (promptTokens > 0) {
    tests.push({ name: `pp${promptTokens}`, prompts: [someTokens(model, promptTokens)], generated: 1 });
  }
  if (generatedTokens > 0) {
    const prompts = [someTokens(model, 1)];
    tests.push({ name: `tg${generatedTokens}`, prompts, generated: generatedTokens + 1 });
  }
  if (parallel > 1) {
    const { depth = DEFAULT_DEPTH } = options;
    const prompts = Array.from({ length: parallel }, (_, seed) => someTokens(model, depth, seed));
    tests.push({ name: `${parallel} x tg${generatedTokens}`, prompts, generated: generatedTokens });
  } else if (options.depth !== undefined) {
    const { depth } = options;
    const name = `tg${generatedTokens} @ d${depth}`;
    tests.push({ name, prompts: [someTokens(model, depth)], generated: generatedTokens + 1 });
  }
  if (!options.speculative) return tests;
  const withDrafts = (test: BenchmarkTest) =>
    ({ ...test, name: `${test.name} speculative`, speculative: true }) as const;
  return tests.flatMap((test) => (test.generated > 1 ? [test, withDrafts(test)] : [test]));
}

/** Throws `INVALID_ARGUMENT` for what would be measured nowhere. */
export function checkTests({ promptTokens, generatedTokens, parallel, depth }: BenchmarkOptions): void {
  if (generatedTokens > 0) return;
  const unused = parallel > 1 ? 'parallel' : depth === undefined ? undefined : 'depth';
  const name = unused ?? 'generatedTokens';
  const found = unused
    ? `${unused === 'parallel' ? parallel : depth} with 0 generated tokens`
    : '0 beside 0 prompt tokens';
  if (unused || promptTokens === 0) fail('INVALID_ARGUMENT', { name, found, expected: 'tokens to generate' });
}

/**
 * Measures a model's speed as llama-bench does: `pp` reads a prompt into an empty context, `tg` generates from an empty
 * context; with several sequences, all generate at once behind prompts that were read before. A first round of each is not
 * counted. Yields a result a test. Rejects with `ABORTED` and as `generate`.
 */
export async function* runBenchmark(
  model: LanguageModel,
  options: BenchmarkOptions,
): AsyncGenerator<BenchmarkResult, void> {
  let before: BenchmarkResult | undefined;
  for (const test of benchmarkTests(model, options)) {
    const all: number[] = [];
    let accepted = 0;
    for (let round = 0; round <= options.repetitions; round++) {
      throwIfAborted(options.signal, 'the benchmark');
      const found = await speedOf(model, test);
      if (round > 0) all.push(found.speed);
      ({ accepted } = found);
    }
    const result = resultOf(test, all, costOfToken(model, test));
    const ratio = result.median / (before?.median ?? Number.NaN);
    yield test.speculative ? { ...result, speculative: { ratio, accepted } } : result;
    before = result;
  }
}

/** Tokens a second, and how much of the draft tokens was accepted. */
async function speedOf(
  model: LanguageModel,
  test: BenchmarkTest,
): Promise<{ speed: number; accepted: number }> {
  const { prompts, generated } = test;
  model.reset();
  if (prompts.length > 1) await continueAll(model, { ...test, generated: 1 });
  const begin = performance.now();
  const ends = await continueAll(model, test);
  const seconds = (performance.now() - begin) / 1000;
  const sum = (of: (end: TextEnd) => number) => ends.reduce((total, end) => total + of(end), 0);
  const proposed = sum((end) => end.proposedTokens);
  const accepted = proposed === 0 ? 0 : sum((end) => end.acceptedTokens) / proposed;
  if (prompts.length > 1) return { speed: (prompts.length * generated) / seconds, accepted };
  const [end] = ends;
  if (generated === 1) return { speed: (prompts[0]?.length ?? 0) / (end?.promptSeconds ?? 0), accepted };
  // The first token comes with the prompt.
  return { speed: (generated - 1) / (end?.generateSeconds ?? 0), accepted };
}

/** Continues all prompts at once, greedily. */
async function continueAll(model: LanguageModel, of: BenchmarkTest): Promise<TextEnd[]> {
  const { prompts, generated, speculative } = of;
  const speculation = speculative ? undefined : 0;
  const options = { temperature: 0, maxTokens: generated, ignoreEnd: true, speculation };
  const streams = prompts.map((ids) => model.generate(ids, options));
  await Promise.all(streams.map((stream) => stream.text()));
  return streams.map((stream) => stream.end);
}

/** What a token of the test costs at least, in the steps that it is a part of. */
function costOfToken(model: LanguageModel, { prompts, generated }: BenchmarkTest): Cost {
  const [{ length }] = prompts as [readonly number[]];
  const reads = prompts.length === 1 && generated === 1;
  const rows = reads ? Math.min(length, model.batch) : prompts.length;
  const attended = reads ? (length + 1) / 2 : length + generated / 2;
  const { bytes, flops } = model.cost({ rows, outputs: reads ? 1 : rows, attended });
  return { bytes: bytes / rows, flops: flops / rows };
}

function resultOf({ name }: BenchmarkTest, all: readonly number[], cost: Cost): BenchmarkResult {
  const sorted = [...all].sort((a, b) => a - b);
  const median = medianOf(sorted);
  return {
    test: name,
    median,
    slowest: sorted[0] ?? 0,
    fastest: sorted.at(-1) ?? 0,
    all,
    bytesPerSecond: median * cost.bytes,
    flopsPerSecond: median * cost.flops,
  };
}

/** Ids all over the vocabulary, always the same; others for another seed. */
function someTokens(model: LanguageModel, count: number, seed = 0): number[] {
  const { vocabularySize } = model.tokenizer;
  return Array.from({ length: count }, (_, i) => (i * 7919 + seed * 104_729 + 1) % vocabularySize);
}

/** The middle of sorted numbers; 0 of none. */
function medianOf(sorted: readonly number[]): number {
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? 0)) / 2;
}
