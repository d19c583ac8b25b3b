import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { RemoteModel } from '../../src/engine/remote/remote-model.ts';
import { StepProfile } from '../../src/runtime/jobs/step-profile.ts';
import type { LogFields } from '../../src/base/log.ts';
import { silentLogger } from '../../src/base/log.ts';
import { loadModel } from '../../src/node/load-model.ts';
import {
  loadModelInWorker,
  openInWorker,
  type WorkerModelOptions,
} from '../../src/node/load-model-in-worker.ts';
import { nodeWorkerHost } from '../../src/node/worker-host.ts';
import { ModelServer } from '../../src/server/index.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { BUNDLED } from '../support/run-cli.ts';
import { post } from '../support/test-server.ts';

const OPTIONS = { device: 'cpu', threads: 1, context: 512, sequences: 4 } as const;
const MORTAL = new URL('../support/mortal-engine.js', import.meta.url);
const QUESTION = [{ role: 'user', content: 'What is the capital of France?' }] as const;
const SCHEMA = { type: 'object', properties: { n: { enum: [1, 2] } }, required: ['n'] };

async function opened(t: TestContext, options: WorkerModelOptions = {}): Promise<RemoteModel> {
  const model = await loadModelInWorker(BUNDLED, { ...OPTIONS, ...options });
  t.after(() => model.dispose());
  return model;
}

/** A model whose thread dies of prompts that begin with the token 13. */
function mortal(): Promise<RemoteModel> {
  return openInWorker(nodeWorkerHost(MORTAL, 1).start('engine'), BUNDLED, OPTIONS);
}

/** Waits, however long it takes, until what the engine's thread tells now and then is so. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
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
  ]) {
    const answers = await Promise.all(
      [here, there].map(async (model) => {
        const stream = model.chat(QUESTION, options);
        const chunks = [];
        for await (const { text, reasoning, token } of stream) chunks.push({ text, reasoning, token });
        const { promptSeconds: _p, generateSeconds: _g, cachedTokens: _c, ...end } = stream.end;
        return { chunks, end };
      }),
    );
    assert.deepEqual(answers[1], answers[0]);
    assert.ok((answers[0]?.chunks.length ?? 0) > 1);
  }
  assert.deepEqual(there.config, { architecture: here.config.architecture, width: here.config.width });
  assert.equal(there.vocabulary, here.vocabulary);
  assert.ok((await there.loaded).bytes > 0);
});

test('a text is left or aborted while it comes, and nothing is left of it', async (t) => {
  const model = await opened(t);
  let count = 0;
  for await (const _ of model.generate('Once', { ignoreEnd: true })) if (++count === 3) break;
  await until(() => model.counters.steps > 0 && model.activity.sequences.length === 0);
  const controller = new AbortController();
  const { signal } = controller;
  const text = model.generate('Once', { ignoreEnd: true, signal }).text();
  await until(() => model.activity.sequences.some(({ state }) => state === 'generating'));
  controller.abort();
  await assert.rejects(text, { code: 'ABORTED' });
  await until(() => model.activity.sequences.length === 0);
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

test('when its thread dies, what runs rejects, and it can still be disposed', async () => {
  const model = await mortal();
  const other = model.generate([1], { ignoreEnd: true }).text();
  const deadly = model.generate([13], { ignoreEnd: true }).text();
  await assert.rejects(deadly, { code: 'WORKER_LOST' });
  await assert.rejects(other, /something that nobody expected/);
  assert.equal(((await model.lost) as Error & { code: string }).code, 'WORKER_LOST');
  await assert.rejects(model.generate([1]).text(), { code: 'WORKER_LOST' });
  await model.dispose();
  assert.throws(() => model.generate([1]), { code: 'DISPOSED' });
});

test('a server tells of an engine whose thread died, and loads the model anew', async (t) => {
  let loads = 0;
  const open = () => {
    loads++;
    return mortal();
  };
  const server = new ModelServer({ models: [{ id: 'm', created: 0, open }], parallel: 2 });
  t.after(() => server[Symbol.asyncDispose]());
  const ask = (prompt: number[]) =>
    server.fetch(post('/v1/completions', { prompt, max_tokens: 3, ignore_eos: true }));
  assert.equal((await ask([1])).status, 200);
  const failed = await ask([13]);
  assert.equal(failed.status, 500);
  assert.match(await failed.text(), /WORKER_LOST/i);
  assert.equal((await ask([1])).status, 200);
  assert.equal(loads, 2);
});
