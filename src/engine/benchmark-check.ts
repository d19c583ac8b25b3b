import { type BenchmarkOptions, openSequences, someTokens } from './benchmark.ts';
import type { LanguageModel } from './language-model.ts';

/** How far the logits of a benchmark's steps are from another device's. */
export interface CheckResult {
  readonly test: string;
  /** Squared differences over squares, all logits together. */
  readonly error: number;
  /** Positions whose best token is the other's, of all that were compared. */
  readonly agreeing: number;
  readonly positions: number;
}

/** Positions that single tokens are compared at. */
const SINGLE_TOKENS = 16;

/**
 * Compares the logits of the same kinds of steps that `runBenchmark` times with those of a model on another device: of single
 * tokens, of a token behind a prompt that was read in one step, of sequences of one batch.
 */
export async function* checkBenchmark(
  model: LanguageModel,
  other: LanguageModel,
  options: BenchmarkOptions,
): AsyncGenerator<CheckResult, void> {
  const { promptTokens, generatedTokens, sequences, depth } = options;
  if (promptTokens > 1) {
    const ids = someTokens(model, promptTokens);
    yield await compare(
      `pp${promptTokens}`,
      logitsOf(model, ids, ids.length - 1),
      other,
      ids,
      ids.length - 1,
    );
  }
  if (generatedTokens > 0) {
    const ids = someTokens(model, Math.min(generatedTokens, SINGLE_TOKENS), 1);
    yield await compare(`tg${generatedTokens}`, logitsOf(model, ids, 0), other, ids, 0);
  }
  if (sequences > 0) {
    await using batch = await openSequences(model, options);
    const all = await batch.logits();
    const width = all.length / sequences;
    const checked = Math.min(2, sequences);
    const totals = new Totals();
    for (let i = 0; i < checked; i++) {
      const slot = i * (sequences - 1);
      const ids = someTokens(model, depth + 1, slot);
      const [expected] = await logitsOf(other, ids, depth);
      if (expected) totals.add(all.subarray(slot * width, (slot + 1) * width), expected);
    }
    yield totals.result(`${sequences}xtg at ${depth}`);
  }
}

async function compare(
  test: string,
  actual: Promise<Float32Array[]>,
  other: LanguageModel,
  ids: readonly number[],
  from: number,
): Promise<CheckResult> {
  const totals = new Totals();
  const expected = await logitsOf(other, ids, from);
  (await actual).forEach((logits, i) => totals.add(logits, expected[i] as Float32Array));
  return totals.result(test);
}

async function logitsOf(model: LanguageModel, ids: readonly number[], from: number): Promise<Float32Array[]> {
  const all: Float32Array[] = [];
  for await (const { logits } of model.evaluate(ids, from)) all.push(logits.slice());
  return all;
}

class Totals {
  #difference = 0;
  #square = 0;
  #agreeing = 0;
  #positions = 0;

  add(actual: Float32Array, expected: Float32Array): void {
    for (let i = 0; i < expected.length; i++) {
      const [a, b] = [actual[i] as number, expected[i] as number];
      this.#difference += (a - b) ** 2;
      this.#square += b * b;
    }
    this.#positions++;
    if (bestOf(actual) === bestOf(expected)) this.#agreeing++;
  }

  result(test: string): CheckResult {
    return {
      test,
      error: this.#difference / this.#square,
      agreeing: this.#agreeing,
      positions: this.#positions,
    };
  }
}

function bestOf(logits: Float32Array): number {
  return logits.reduce((best, logit, i) => (logit > (logits[best] as number) ? i : best), 0);
}
