import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { RemoteModel } from '../../src/engine/remote/remote-model.ts';
import { StepProfile } from '../../src/runtime/jobs/step-profile.ts';
import type { LogFields } from '../../src/base/log.ts';
import { silentLogger } from '../../src/base/log.ts';
import { loadModel, type LoadModelOptions } from '../../src/node/load-model.ts';
import type { TextModel } from '../../src/engine/text-model.ts';
import type { GenerateOptions } from '../../src/engine/generate-options.ts';
import { loadModelInWorker } from '../../src/node/load-model-in-worker.ts';
import type { WorkerModelOptions } from '../../src/node/open-engine.ts';
import type { PromptItem } from '../../src/runtime/prompt-items.ts';
import { familyPaths } from '../support/family-fixtures.ts';
import { until } from '../support/hung.ts';
import { LORA_BASE, LORA_FILES, LORA_MIXTURES } from '../support/lora-fixtures.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { BUNDLED } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { tinyBytes } from '../support/tiny-model.ts';

const OPTIONS = { device: 'cpu', threads: 1, context: 512, sequences: 4 } as const;
const QUESTION = [{ role: 'user', content: 'What is the capital of France?' }] as const;
const SCHEMA = { type: 'object', properties: { n: { enum: [1, 2] } }, required: ['n'] };

const what = () => 'the engine does not come to it';

async function opened(t: TestContext, options: WorkerModelOptions = {}): Promise<RemoteModel> {
  const model = await loadModelInWorker(BUNDLED, { ...OPTIONS, ...options });
  t.after(() => model.dispose());
  return model;
}

test('texts are those of a model on this thread, whatever holds and ends them', async (t) => {
  const there = await opened(t);
  await using here = await loadModel(BUNDLED, OPTIONS);
  const of = { temperature: 0, maxTokens: 40 } as const;
  for (const options of [
    of,
    { ...of, stop: ['Paris'] },
    { ...of, logProbabilities: 2, maxTokens: 5 },
    { ...of, schema: SCHEMA, reasoning: { enabled: false } },
    { ...of, reasoning: { budget: 3 } },
    { ...of, temperature: 1, seed: 7 },
    { ...of, minTokens: 30, bannedTokens: [[30]], stop: ['a'], includeStop: true },
  ]) {
    const answers = await Promise.all(
      [here, there].map(async (model) => {
        const stream = model.chat(QUESTION, options);
        const chunks = [];
        for await (const { text, reasoning, token } of stream) chunks.push({ text, reasoning, token });
        const {
          cachedTokens: _c,
          queueSeconds: _q,
          promptSeconds: _p,
          generateSeconds: _g,
          ...end
        } = stream.end;
        return { chunks, end };
      }),
    );
    assert.deepEqual(answers[1], answers[0]);
    assert.ok((answers[0]?.chunks.length ?? 0) > 1);
  }
  const [own, remote] = await Promise.all(
    [here, there].map((model) => model.score([1, 30, 40, 50], { alternatives: 2 })),
  );
  assert.deepEqual(remote, own);
  assert.equal(own?.length, 3);
  assert.deepEqual(there.config, { architecture: here.config.architecture, width: here.config.width });
  assert.equal(there.vocabulary, here.vocabulary);
  assert.ok((await there.loaded).bytes > 0);
});

test('a text is left or aborted while it comes, and nothing is left of it', async (t) => {
  const model = await opened(t);
  let count = 0;
  for await (const _ of model.generate('Once', { ignoreEnd: true })) if (++count === 3) break;
  await until(what, () => model.counters.steps > 0 && model.activity.sequences.length === 0);
  const controller = new AbortController();
  const { signal } = controller;
  const text = model.generate('Once', { ignoreEnd: true, signal }).text();
  await until(what, () => model.activity.sequences.some(({ state }) => state === 'generating'));
  const reason = new Error('enough');
  controller.abort(reason);
  await assert.rejects(text, { code: 'ABORTED', cause: reason });
  await until(what, () => model.activity.sequences.length === 0);
  await assert.rejects(model.generate('Once', { signal }).text(), { code: 'ABORTED' });
});

test('a reader that stops in between is not counted what it did not read', async (t) => {
  const model = await opened(t);
  const of = { temperature: 0, maxTokens: 30 };
  const whole = await model.chat(QUESTION, { ...of, special: true }).text();
  const stop = whole.slice(8, 11);
  const stream = model.chat(QUESTION, { ...of, special: true, stop: [stop] });
  assert.equal(await stream.text(), whole.slice(0, whole.indexOf(stop)));
  assert.equal(stream.end.stop, stop);
  assert.equal(stream.end.reason, 'stop');
  assert.ok(stream.end.generatedTokens < 12, `${stream.end.generatedTokens} tokens`);
});

test('errors keep their types across the thread', async (t) => {
  const model = await opened(t);
  const long = Array.from({ length: 600 }, () => 5);
  await assert.rejects(model.generate(long).text(), { code: 'CONTEXT_OVERFLOW' });
  await assert.rejects(model.generate([-1]).text(), { code: 'TOKEN_OUT_OF_RANGE' });
  await assert.rejects(model.generate([1.5]).text(), { code: 'TOKEN_OUT_OF_RANGE' });
  await assert.rejects(model.generate('a', { schema: { type: 'nothing' } }).text(), {
    code: 'GRAMMAR_INVALID',
  });
  assert.throws(() => model.generate('a', { temperature: -1 }), { code: 'INVALID_ARGUMENT' });
  const constraint = { isComplete: false, fill: async () => {}, accept() {}, [Symbol.dispose]() {} };
  await assert.rejects(model.generate('a', { constraint }).text(), { code: 'INVALID_ARGUMENT' });
  await assert.rejects(loadModelInWorker('/nowhere.gguf', OPTIONS), { code: 'SOURCE_UNAVAILABLE' });
  await assert.rejects(loadModelInWorker(BUNDLED, { ...OPTIONS, device: 'toaster' }), {
    code: 'INVALID_ARGUMENT',
  });
  const taps = { taps: {} } as WorkerModelOptions;
  await assert.rejects(loadModelInWorker(BUNDLED, taps), { code: 'OPTION_UNKNOWN' });
});

test('an encoder has the vectors of one on this thread', async (t) => {
  const file = join(PROJECT_ROOT, 'tests/fixtures/families/bert.gguf');
  const of = { device: 'cpu', threads: 1 } as const;
  const there = await loadModelInWorker(file, of);
  t.after(() => there.dispose());
  await using here = await loadModel(file, of);
  const ids = [1, 5, 9, 2];
  for (const pooling of ['mean', 'first'] as const) {
    assert.deepEqual(await there.embed(ids, { pooling }), await here.embed(ids, { pooling }));
  }
  const reason = new Error('nobody wants it');
  const aborted = { code: 'ABORTED', cause: reason };
  await assert.rejects(there.embed(ids, { signal: AbortSignal.abort(reason) }), aborted);
  await assert.rejects(there.embed([1e6]), { code: 'TOKEN_OUT_OF_RANGE' });
  assert.throws(() => there.generate(ids), { code: 'GENERATION_UNSUPPORTED' });
  await there.reset();
});

test('progress, log lines and the profile of steps come across', async (t) => {
  const lines: { message: string; fields: LogFields | undefined }[] = [];
  const say = (message: string, fields?: LogFields) => lines.push({ message, fields });
  const logger = { ...silentLogger, enabled: () => true, debug: say, info: say };
  const profile = new StepProfile({ withTrace: true });
  const phases: string[] = [];
  const model = await opened(t, { logger, profile, onProgress: ({ phase }) => phases.push(phase) });
  await model.loaded;
  await model.generate('Once', { maxTokens: 5, ignoreEnd: true }).text();
  assert.equal(phases.at(-1), 'ready');
  assert.ok(
    lines.some(({ message, fields }) => message === 'generated' && fields?.['generatedTokens'] === 5),
  );
  const step = profile.summary().find(({ phase }) => phase === 'step');
  assert.ok((step?.count ?? 0) >= 5);
  assert.match(JSON.stringify(profile.trace), /dispatch/);
});

/** A model on a thread of its own, and the same on this one. */
async function both(
  t: TestContext,
  file: string,
  options: WorkerModelOptions & LoadModelOptions,
): Promise<[TextModel, TextModel]> {
  const there = await loadModelInWorker(file, options);
  t.after(() => there.dispose());
  const here = await loadModel(file, options);
  t.after(() => here.dispose());
  return [there, here];
}

async function said(model: TextModel, prompt: readonly PromptItem[], options: GenerateOptions = {}) {
  const stream = model.generate(prompt, { temperature: 0, maxTokens: 12, ignoreEnd: true, ...options });
  const ids: number[] = [];
  for await (const { token } of stream) if (token) ids.push(token.id);
  const { cachedTokens, proposedTokens, acceptedTokens } = stream.end;
  return { ids, cachedTokens, proposedTokens, acceptedTokens };
}

test('a draft proposes on the same thread, from a file of its own', async (t) => {
  const options = { ...OPTIONS, sequences: 2 };
  const [there, here] = await both(t, BUNDLED, { ...options, draft: { path: BUNDLED, tokens: 3 } });
  const prompt = here.tokenizer.encode('Once upon a time');
  const [expected, found] = [await said(here, prompt), await said(there, prompt)];
  assert.deepEqual(found, expected);
  assert.ok(found.proposedTokens > 4 && found.acceptedTokens === found.proposedTokens);
  const drawn = { temperature: 1, seed: 5, speculation: 2 };
  assert.deepEqual(await said(there, prompt, drawn), await said(here, prompt, drawn));
  const model = await loadModel(BUNDLED, OPTIONS);
  const open = { ...OPTIONS, draft: { model } } as WorkerModelOptions;
  await assert.rejects(loadModelInWorker(BUNDLED, open), { code: 'OPTION_UNKNOWN' });
  await model.dispose();
  const missing = loadModelInWorker(BUNDLED, { ...OPTIONS, draft: { path: '/nowhere.gguf' } });
  await assert.rejects(missing, { code: 'SOURCE_UNAVAILABLE' });
});

test('requests choose adapters, and adapters that are merged are part of the weights', async (t) => {
  const options = { device: 'cpu', threads: 1, context: 64, sequences: 3 } as const;
  const [there, here] = await both(t, LORA_BASE, { ...options, adapters: LORA_FILES });
  assert.deepEqual(there.adapters, here.adapters);
  const ids = [5, 9, 4, 21];
  const mixtures = [{}, ...LORA_MIXTURES].map((scales) => new Map(Object.entries(scales)));
  const expected = await Promise.all(mixtures.map((adapters) => said(here, ids, { adapters })));
  assert.deepEqual(await Promise.all(mixtures.map((adapters) => said(there, ids, { adapters }))), expected);
  assert.equal(new Set(expected.map((one) => one.ids.join())).size, mixtures.length);
  assert.throws(() => there.generate(ids, { adapters: new Map([['third', 1]]) }), {
    code: 'INVALID_ARGUMENT',
  });
  const merged = await loadModelInWorker(LORA_BASE, {
    ...options,
    adapters: LORA_FILES,
    mergeAdapters: true,
  });
  t.after(() => merged.dispose());
  assert.equal(merged.adapters.size, 0);
  const all = new Map([
    ['first', 1],
    ['second', 1],
  ]);
  assert.deepEqual((await said(merged, ids)).ids, (await said(here, ids, { adapters: all })).ids);
});

test('vectors in a prompt cross, and are found again in the cache', async (t) => {
  const file = join(temporaryFolder(t), 'tiny.gguf');
  writeFileSync(file, await tinyBytes('F32', [], { hasHead: true }));
  const [there, here] = await both(t, file, { ...OPTIONS, context: 128, embedding: 'host' });
  const { width } = there.config;
  // Views of one buffer, as an encoder of images gives them.
  const values = Float32Array.from({ length: 40 * width }, (_, i) => Math.sin(i) / 8);
  const vectors = Array.from({ length: 40 }, (_, i) => values.subarray(i * width, (i + 1) * width));
  const prompt = [1, ...vectors, 7, 8];
  const expected = await said(here, prompt);
  assert.deepEqual(await said(there, prompt), expected);
  assert.equal((await said(there, prompt)).cachedTokens, prompt.length - 1);
  await assert.rejects(said(there, [1, values.subarray(0, 3)]), { code: 'INVALID_ARGUMENT' });
  await assert.rejects(said(there, [1, new Float32Array(width).fill(Number.NaN)]), {
    code: 'INVALID_ARGUMENT',
  });
});

test('states are saved on one thread and restored on another', async (t) => {
  const options = { device: 'cpu', threads: 1, context: 160, sequences: 2 } as const;
  for (const name of ['gemma3', 'rwkv7']) {
    const file = familyPaths({ name, sizes: {} }).model;
    const [there, here] = await both(t, file, options);
    const held = Array.from({ length: 70 }, (_, i) => 3 + ((7 * i + i * i) % 50));
    const prompt = [...held, 11, 12, 13];
    const { ids } = await said(here, prompt);
    await here.reset();
    for (const [from, into] of [
      [here, there],
      [there, here],
    ] as const) {
      const snapshot = await from.saveState(held);
      await into.reset();
      await into.restoreState(snapshot);
      const restored = await said(into, prompt);
      assert.deepEqual(restored.ids, ids, name);
      assert.ok(restored.cachedTokens > 0, name);
    }
    await assert.rejects(there.restoreState({ ids: held, states: [] }), { code: 'INVALID_ARGUMENT' });
    await assert.rejects(there.saveState(held, AbortSignal.abort()), { code: 'ABORTED' });
    await assert.rejects(there.saveState([1e6]), { code: 'TOKEN_OUT_OF_RANGE' });
  }
});
