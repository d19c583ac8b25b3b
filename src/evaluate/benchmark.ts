import { fail, throwIfAborted } from '../base/errors.ts';
import type { Cost } from '../ops/index.ts';
import type { LanguageModel } from '../engine/language-model.ts';
import type { TextEnd } from '../engine/text-stream.ts';

/** What to measure: prompt processing and generation, each repeated. */
export interface BenchmarkOptions {
  /** Length of the prompt; 0 skips this test. */
  readonly promptTokens: number;
  /** Tokens generated greedily from an empty context; 0 skips this test. */
  readonly generatedTokens: number;
  /** Concurrent sequences in an additional test; 1 skips it. */
  readonly parallel: number;
  /**
   * Length of the prompts before generation, in an additional test. Default: `DEFAULT_DEPTH` for several sequences, no
   * such test for one.
   */
  readonly depth?: number | undefined;
  readonly repetitions: number;
  /** Generates again with the speculation that the model was opened with, which is off otherwise. Default false. */
  readonly speculative?: boolean | undefined;
  /** Called before each round of a test; round 0 of `rounds` is the warm-up. */
  readonly onRound?: ((test: string, round: number, rounds: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Speeds of one test, in tokens per second. */
export interface BenchmarkResult {
  /**
   * `pp512`: processing a prompt of 512 tokens; `tg128`: generating 128 tokens; `64 x tg128`: generating 128 tokens in
   * each of 64 concurrent sequences, after their prompts; `tg128 @ d512`: generating 128 tokens after a prompt of 512;
   * `tg128 speculative`: with draft tokens.
   */
  readonly test: string;
  readonly median: number;
  readonly slowest: number;
  readonly fastest: number;
  readonly all: readonly number[];
  /** A lower bound of the bytes and operations per second at the median, if each token takes a step. */
  readonly bytesPerSecond: number;
  readonly flopsPerSecond: number;
  /**
   * For a test with speculation: its median relative to that of the same test without, and the fraction of accepted
   * draft tokens.
   */
  readonly speculative?: { readonly ratio: number; readonly accepted: number };
}

/** A run of the model: prompts, and the number of tokens to generate after each. */
export interface BenchmarkTest {
  readonly name: string;
  readonly prompts: readonly (readonly number[])[];
  readonly generated: number;
  readonly speculative?: true;
}

const GREEDY = { temperature: 0, ignoreEnd: true } as const;

/** Default prompt length for several sequences. */
export const DEFAULT_DEPTH = 128;

/** Positions that a model needs for a benchmark. */
export function benchmarkContext(options: BenchmarkOptions): number {
  const { promptTokens, generatedTokens, parallel } = options;
  const depth = options.depth ?? (parallel > 1 ? DEFAULT_DEPTH : 0);
  return Math.max(promptTokens, depth + generatedTokens + 1) + 1;
}

/** The tests that the options ask for. Throws `INVALID_ARGUMENT` if they are inconsistent or ask for none. */
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

/** Throws `INVALID_ARGUMENT` for options without any test. */
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
 * Measures a model's speed like llama-bench: `pp` processes a prompt in an empty context, `tg` generates from an empty
 * context; with several sequences, all generate at once after their prompts. The first round of each is not counted.
 * Yields one result per test. Rejects with `ABORTED` and as `generate`.
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
      options.onRound?.(test.name, round, options.repetitions + 1);
      const found = await speedOf(model, test, options.signal);
      if (round > 0) all.push(found.speed);
      ({ accepted } = found);
    }
    const result = resultOf(test, all, costOfToken(model, test));
    const ratio = result.median / (before?.median ?? Number.NaN);
    yield test.speculative ? { ...result, speculative: { ratio, accepted } } : result;
    before = result;
  }
}

/** Tokens per second, and the fraction of accepted draft tokens. */
async function speedOf(
  model: LanguageModel,
  test: BenchmarkTest,
  signal: AbortSignal | undefined,
): Promise<{ speed: number; accepted: number }> {
  const { generated } = test;
  model.reset();
  const prompts = test.prompts.length > 1 ? await readAll(model, test, signal) : test.prompts;
  const begin = performance.now();
  const ends = await continueAll(model, { ...test, prompts }, signal);
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

/**
 * Computes all prompts, and returns each with the token that follows it: what the slots then hold is continued by one row,
 * also the states of recurrences, which cannot go back to before a prompt's last token.
 */
function readAll(
  model: LanguageModel,
  { prompts }: BenchmarkTest,
  signal: AbortSignal | undefined,
): Promise<number[][]> {
  const options = { ...GREEDY, maxTokens: 1, speculation: 0, signal };
  const read = async (ids: readonly number[]) => {
    const known = [...ids];
    for await (const { token } of model.generate(ids, options)) if (token) known.push(token.id);
    return known;
  };
  return Promise.all(prompts.map(read));
}

/** Continues all prompts at once, greedily. */
async function continueAll(
  model: LanguageModel,
  of: BenchmarkTest,
  signal: AbortSignal | undefined,
): Promise<TextEnd[]> {
  const { prompts, generated, speculative } = of;
  const speculation = speculative ? undefined : 0;
  const options = { ...GREEDY, maxTokens: generated, speculation, signal };
  const streams = prompts.map((ids) => model.generate(ids, options));
  await Promise.all(streams.map((stream) => stream.text()));
  return streams.map((stream) => stream.end);
}

/** A lower bound of the cost of a token of the test, given the steps that it is a part of. */
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

/** Pseudo-random ids, always the same; different for another seed. */
function someTokens(model: LanguageModel, count: number, seed = 0): number[] {
  const { vocabularySize } = model.tokenizer;
  return Array.from({ length: count }, (_, i) => (i * 7919 + seed * 104_729 + 1) % vocabularySize);
}

/** The median of sorted numbers; 0 if there are none. */
function medianOf(sorted: readonly number[]): number {
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? 0)) / 2;
}
