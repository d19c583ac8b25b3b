import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { type LogFields, silentLogger } from '../../src/base/log.ts';
import type { WorkerHandle } from '../../src/device/index.ts';
import type { GenerateOptions } from '../../src/engine/generate-options.ts';
import type { RemoteModel } from '../../src/engine/remote/remote-model.ts';
import { loadModelInWorker, modelWith } from '../../src/node/load-model-in-worker.ts';
import { openReplicas } from '../../src/node/open-replicas.ts';
import { nodeWorkerHost } from '../../src/node/worker-host.ts';
import { until } from '../support/hung.ts';
import type { MortalOrder } from '../support/mortal-engine.ts';
import { LORA_BASE, LORA_FILES } from '../support/lora-fixtures.ts';

const MORTAL = new URL('../support/mortal-engine.js', import.meta.url);
const OPTIONS = { device: 'cpu', threads: 1, context: 256, sequences: 2, replicas: 2 } as const;
/** The first token of a prompt that its thread dies of. */
const DEADLY = 13;
const DIES: MortalOrder = { dies: 'begin', token: DEADLY };

/** Two engines, and a model with one to compare them with. */
let model: RemoteModel;
let one: RemoteModel;

before(async () => {
  model = await loadModelInWorker(LORA_BASE, { ...OPTIONS, maxAdapters: 1 });
  one = await loadModelInWorker(LORA_BASE, { ...OPTIONS, maxAdapters: 1, replicas: 1 });
});

after(async () => {
  await model.dispose();
  await one.dispose();
});

async function ids(model: RemoteModel, prompt: readonly number[], options: GenerateOptions = {}) {
  const found: number[] = [];
  const stream = model.generate(prompt, { temperature: 0, maxTokens: 8, ignoreEnd: true, ...options });
  for await (const { token } of stream) if (token) found.push(token.id);
  return { found, cached: stream.end.cachedTokens };
}

/** The slots of the sequences that run. */
const running = (model: RemoteModel) =>
  model.activity.sequences.map(({ slot }) => slot).filter((slot) => slot >= 0);

const idle = (model: RemoteModel) =>
  until(
    () => `it is still busy: ${JSON.stringify(model.activity)}`,
    () => model.activity.sequences.length === 0,
  );

/** A text that goes on until it is aborted. */
function endless(t: TestContext, model: RemoteModel, first: number) {
  const controller = new AbortController();
  t.after(() => controller.abort());
  const of = { maxTokens: Number.POSITIVE_INFINITY, shift: { keep: 4 }, signal: controller.signal };
  const text = ids(model, [1, first], of);
  text.catch(() => {});
  return { text, controller };
}

const prompt = (seed: number, length: number) =>
  Array.from({ length }, (_, at) => 1 + ((seed * 7 + at * (2 * seed + 1)) % 63));

test('texts of replicas are those of one engine, side by side and again', async () => {
  assert.equal(model.activity.slots, 4);
  const prompts = Array.from({ length: 6 }, (_, seed) => prompt(seed, 70 + seed));
  const expected = await Promise.all(prompts.map((of) => ids(one, of)));
  const found = await Promise.all(prompts.map((of) => ids(model, of)));
  assert.deepEqual(
    found.map((text) => text.found),
    expected.map((text) => text.found),
  );
  const loaded = await Promise.all([model.loaded, one.loaded]);
  assert.equal(loaded[0].bytes, 2 * loaded[1].bytes);
  assert.ok(model.counters.steps > 0);
  assert.equal((await model.cards()).length, 2);
  assert.deepEqual(await model.score([1, 30, 40]), await one.score([1, 30, 40]));
});

test('a text goes where its beginning is cached, another to the engine that has nothing to do', async (t) => {
  await model.reset();
  for (const seed of [1, 2]) await ids(model, prompt(seed, 80));
  // Each is on its own engine now, and comes back to it.
  for (const seed of [2, 1, 1, 2]) assert.ok((await ids(model, prompt(seed, 80))).cached >= 64);
  await model.reset();
  assert.equal((await ids(model, prompt(1, 80))).cached, 0);
  const texts = [5, 6].map((first) => endless(t, model, first));
  await until(
    () => `they do not run side by side: ${running(model).join()}`,
    () => running(model).length === 2,
  );
  const engines = running(model).map((slot) => Math.floor(slot / 2));
  assert.deepEqual(engines.sort(), [0, 1]);
  for (const { text, controller } of texts) {
    controller.abort();
    await assert.rejects(text, { code: 'ABORTED' });
  }
  await idle(model);
});

test('slots are numbered through, and their texts are saved, erased and restored', async () => {
  await model.reset();
  const of = prompt(3, 70);
  const { found } = await ids(model, of);
  const holding = [];
  for (let slot = 0; slot < 4; slot++) {
    const snapshot = await model.saveSlot(slot).catch(({ code }: { code: string }) => {
      assert.equal(code, 'INVALID_ARGUMENT');
    });
    if (snapshot) holding.push({ slot, snapshot });
  }
  assert.equal(holding.length, 1);
  const [{ slot, snapshot } = assert.fail()] = holding;
  assert.ok((await model.eraseSlot(slot)) >= 70);
  await assert.rejects(model.saveSlot(slot), { code: 'INVALID_ARGUMENT' });
  for (const to of [3, 0]) {
    await model.reset();
    await model.restoreState(snapshot, to);
    assert.deepEqual((await model.saveSlot(to)).ids, snapshot.ids);
    const again = await ids(model, of);
    assert.deepEqual(again.found, found);
    assert.ok(again.cached >= 64, `${again.cached} of slot ${to}`);
  }
  for (const none of [4, -1, 0.5]) await assert.rejects(model.saveSlot(none), { code: 'INVALID_ARGUMENT' });
  await model.reset();
  for (const slot of [3, 1, 0, 2]) {
    const asked = [1, 5, 9, slot];
    const stream = model.generate(asked, {
      temperature: 0,
      maxTokens: 8,
      ignoreEnd: true,
      scheduling: { slot },
    });
    await stream.text();
    assert.equal(stream.end.slot, slot);
    assert.deepEqual((await model.saveSlot(slot)).ids.slice(0, 4), asked);
  }
  await assert.rejects(ids(model, of, { scheduling: { slot: 4 } }), { code: 'INVALID_ARGUMENT' });
});

test('adapters come and go on all of them', async () => {
  const [[name, file] = assert.fail()] = Object.entries(LORA_FILES);
  const plain = await Promise.all([0, 1, 2, 3].map(() => ids(model, [1, 5, 9])));
  await model.loadAdapter(name, file, 1);
  assert.deepEqual([...model.adapters], [[name, 1]]);
  // Two on each engine.
  const adapted = await Promise.all([0, 1, 2, 3].map(() => ids(model, [1, 5, 9])));
  for (const text of adapted) {
    assert.deepEqual(text.found, adapted[0]?.found);
    assert.notDeepEqual(text.found, plain[0]?.found);
  }
  await model.unloadAdapter(name);
  assert.deepEqual((await ids(model, [1, 5, 9])).found, plain[0]?.found);
});

test('what is told of one engine alone, and a number that is none, are refused', async () => {
  for (const options of [{ replicas: 0 }, { replicas: 1.5 }, { onBlocks: () => {} }]) {
    await assert.rejects(loadModelInWorker(LORA_BASE, { ...OPTIONS, ...options }), {
      code: 'INVALID_ARGUMENT',
    });
  }
  await assert.rejects(loadModelInWorker('/nowhere.gguf', OPTIONS), { code: 'SOURCE_UNAVAILABLE' });
});

/** Replicas whose threads die of a prompt, and what they warn of. */
async function mortal(
  t: TestContext,
  later: MortalOrder = DIES,
): Promise<{ model: RemoteModel; warnings: string[]; threads: WorkerHandle[] }> {
  const threads: WorkerHandle[] = [];
  const start = () => {
    const thread = nodeWorkerHost(MORTAL, 1).start('engine');
    thread.post(threads.length < 2 ? DIES : later);
    threads.push(thread);
    return thread;
  };
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (message: string, _?: LogFields) => void warnings.push(message) };
  const options = { ...OPTIONS, logger };
  const model = await modelWith(openReplicas(LORA_BASE, options, start), LORA_BASE, options);
  t.after(() => model.dispose());
  return { model, warnings, threads };
}

test('an engine that dies fails its own texts alone, and comes back', async (t) => {
  const { model, warnings, threads } = await mortal(t);
  const expected = await ids(model, [1, 5, 9]);
  const { steps } = model.counters;
  const texts = [5, 6].map((first) => endless(t, model, first));
  await until(
    () => 'they do not run',
    () => running(model).length === 2,
  );
  await assert.rejects(ids(model, [DEADLY]), { code: 'WORKER_LOST' });
  const [dead, alive] = await Promise.race(
    texts.map(async ({ text }, at) => {
      await assert.rejects(text, { code: 'WORKER_LOST' });
      return [at, 1 - at] as const;
    }),
  );
  assert.ok(warnings.includes('replica lost'));
  assert.deepEqual((await ids(model, [1, 5, 9])).found, expected.found);
  await until(
    () => `it does not come back: ${warnings.join()}`,
    () => warnings.includes('replica restored'),
  );
  assert.equal(threads.length, 3);
  assert.ok(model.counters.steps >= steps);
  const again = endless(t, model, 7);
  await until(
    () => `they do not run side by side: ${running(model).join()}`,
    () => new Set(running(model).map((slot) => Math.floor(slot / 2))).size === 2,
  );
  for (const { text, controller } of [texts[alive] ?? assert.fail(), again]) {
    controller.abort();
    await assert.rejects(text, { code: 'ABORTED' });
  }
  assert.notEqual(dead, alive);
});

test('when the last engine dies, the model is lost', async (t) => {
  // The one that dies first does not come back in time.
  const { model } = await mortal(t, { dies: 'open' });
  await Promise.all([0, 1].map(() => assert.rejects(ids(model, [DEADLY]), { code: 'WORKER_LOST' })));
  assert.equal(((await model.lost) as Error & { code: string }).code, 'WORKER_LOST');
  await assert.rejects(ids(model, [1]), { code: 'WORKER_LOST' });
  await model.dispose();
  assert.throws(() => model.generate([1]), { code: 'DISPOSED' });
});
