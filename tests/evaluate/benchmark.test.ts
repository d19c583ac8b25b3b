import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { checkBenchmark } from '../../src/evaluate/benchmark-check.ts';
import { type BenchmarkOptions, runBenchmark } from '../../src/evaluate/benchmark.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { loadModel } from '../../src/node/load-model.ts';
import { fixture } from '../support/fixture.ts';
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

/** What a model has computed of the texts that were begun since: the rows of each prompt. */
function rowsOfPrompts(model: LanguageModel): () => number[] {
  const streams: ReturnType<LanguageModel['generate']>[] = [];
  const generate = model.generate.bind(model);
  model.generate = (...asked) => {
    const stream = generate(...asked);
    streams.push(stream);
    return stream;
  };
  return () => streams.map(({ end }) => end.promptTokens - end.cachedTokens);
}

test('many sequences are measured after their prompts, also where states cannot go back', async () => {
  const parallel = 3;
  const depth = 20;
  for (const family of ['llama', 'rwkv7']) {
    const opened = { device: 'cpu', threads: 1, context: 64, sequences: parallel } as const;
    await using model = await loadModel(fixture(`families/${family}.gguf`), opened);
    const rows = rowsOfPrompts(model);
    const options = { promptTokens: 0, generatedTokens: 4, parallel, depth, repetitions: 0 };
    for await (const _ of runBenchmark(model, options));
    // One alone; all prompts; and then what is measured.
    const each = (of: number) => Array.from({ length: parallel }, () => of);
    assert.deepEqual(rows(), [1, ...each(depth), ...each(1)], family);
  }
});
