import { type BenchmarkOptions, type BenchmarkTest, benchmarkTests } from './benchmark.ts';
import type { LanguageModel } from '../engine/language-model.ts';
import { logSumExp } from './log-likelihood.ts';
import type { SampledToken } from '../runtime/jobs/sampled-token.ts';

/** How a benchmark's tokens compare with another device's. */
export interface CheckResult {
  readonly test: string;
  readonly tokens: number;
  /** Those that are also the other device's most likely ones. */
  readonly agreeing: number;
  /** The largest difference of a token's log probability between the two devices. */
  readonly largestDifference: number;
  readonly meanDifference: number;
}

/** Number of compared sequences of a test; all of them run. */
const COMPARED_SEQUENCES = 2;
/** Maximum number of generated tokens; for tests of a prompt, a few follow it. */
const MAX_TOKENS = 32;
const MIN_TOKENS = 4;

/**
 * Runs the tests of a benchmark once more and compares each token and its log probability with those of another device
 * that is given the same preceding tokens.
 */
export async function* checkBenchmark(
  model: LanguageModel,
  other: LanguageModel,
  options: BenchmarkOptions,
): AsyncGenerator<CheckResult, void> {
  for (const test of benchmarkTests(model, options)) {
    const generated = Math.min(Math.max(test.generated, MIN_TOKENS), MAX_TOKENS);
    const answers = await answersOf(model, { ...test, generated }, options.signal);
    const compared = answers.slice(0, COMPARED_SEQUENCES);
    const differences: number[] = [];
    let agreeing = 0;
    for (const [i, tokens] of compared.entries()) {
      const prompt = test.prompts[i] as readonly number[];
      const ids = [...prompt, ...tokens.map(({ id }) => id)];
      const seen = other.evaluate(ids.slice(0, -1), prompt.length - 1, { signal: options.signal });
      for await (const { position, logits } of seen) {
        const { id, logProbability = Number.NaN } = tokens[position - prompt.length + 1] as SampledToken;
        const expected = (logits[id] as number) - logSumExp(logits);
        differences.push(Math.abs(logProbability - expected));
        if (logits.every((logit) => logit <= (logits[id] as number))) agreeing++;
      }
    }
    yield {
      test: test.name,
      tokens: differences.length,
      agreeing,
      largestDifference: Math.max(...differences),
      meanDifference: differences.reduce((sum, value) => sum + value, 0) / differences.length,
    };
  }
}

/** The tokens that follow each prompt, all prompts continued at once. */
async function answersOf(
  model: LanguageModel,
  { prompts, generated }: BenchmarkTest,
  signal: AbortSignal | undefined,
): Promise<SampledToken[][]> {
  model.reset();
  const options = { temperature: 0, maxTokens: generated, ignoreEnd: true, logProbabilities: 0, signal };
  const collect = async (ids: readonly number[]) => {
    const tokens: SampledToken[] = [];
    for await (const { token } of model.generate(ids, options)) if (token) tokens.push(token);
    return tokens;
  };
  return Promise.all(prompts.map(collect));
}
