import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { checkBenchmark } from '../../src/evaluate/benchmark-check.ts';
import { type BenchmarkOptions, runBenchmark } from '../../src/evaluate/benchmark.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { tinyModel } from '../support/tiny-model.ts';

/** A signal that is given as soon as the model begins a text. */
function givenAtBegin(model: LanguageModel): AbortSignal {
  const controller = new AbortController();
  const generate = model.generate.bind(model);
  model.generate = (...asked) => {
    controller.abort();
    return generate(...asked);
  };
  return controller.signal;
}

/** One round, which nothing but the text itself can end early. */
const ONE_ROUND: BenchmarkOptions = { promptTokens: 24, generatedTokens: 8, parallel: 1, repetitions: 0 };

test('a signal ends a benchmark in the middle of a prompt, and its check, too', async () => {
  for (const run of [
    (model: LanguageModel, options: BenchmarkOptions) => runBenchmark(model, options),
    (model: LanguageModel, options: BenchmarkOptions) => checkBenchmark(model, model, options),
  ]) {
    await using model = await LanguageModel.open({
      gguf: await tinyModel(),
      device: openReferenceDevice(),
      architectures: ALL_ARCHITECTURES,
    });
    const rounds = run(model, { ...ONE_ROUND, signal: givenAtBegin(model) });
    await assert.rejects(rounds.next(), { code: 'ABORTED' });
  }
});
