import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type LogFields, silentLogger } from '../../src/base/log.ts';
import type { WorkerHandle } from '../../src/device/index.ts';
import type { GenerateOptions } from '../../src/engine/generate-options.ts';
import type { RemoteModel } from '../../src/engine/remote/remote-model.ts';
import { openInWorker } from '../../src/node/load-model-in-worker.ts';
import type { WorkerModelOptions } from '../../src/node/open-engine.ts';
import { nodeWorkerHost } from '../../src/node/worker-host.ts';
import { ModelServer } from '../../src/server/index.ts';
import { HUNG_MS, until } from '../support/hung.ts';
import type { MortalOrder } from '../support/mortal-engine.ts';
import { BUNDLED } from '../support/run-cli.ts';
import { post } from '../support/test-server.ts';

const ENTRY = new URL('../support/mortal-engine.js', import.meta.url);
const OPTIONS = { device: 'cpu', threads: 1, context: 512, sequences: 2 } as const;
/** The first token of a prompt that its thread dies of. */
const DEADLY = 13;
/** A text that goes on until it is ended. */
const ENDLESS = { maxTokens: Number.POSITIVE_INFINITY, shift: { keep: 4 } } as const;
const SCHEMA = { type: 'object', properties: { n: { enum: [1, 2] } }, required: ['n'] };

/** A model on a thread that takes orders. */
interface Mortal {
  readonly model: RemoteModel;
  readonly thread: WorkerHandle;
  /** What it warned of. */
  readonly warnings: string[];
}

async function mortal(
  t: TestContext,
  orders: readonly MortalOrder[],
  options: WorkerModelOptions = {},
): Promise<Mortal> {
  const thread = nodeWorkerHost(ENTRY, 1).start('engine');
  for (const order of orders) thread.post(order);
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (message: string, _?: LogFields) => void warnings.push(message) };
  const model = await openInWorker(thread, BUNDLED, { ...OPTIONS, logger, ...options });
  t.after(() => model.dispose());
  return { model, thread, warnings };
}

async function ids(model: RemoteModel, prompt: readonly number[], options: GenerateOptions = {}) {
  const found: number[] = [];
  const how = { temperature: 0, maxTokens: 12, ignoreEnd: true, ...options };
  for await (const { token } of model.generate(prompt, how)) if (token) found.push(token.id);
  return found;
}

const idle = (model: RemoteModel) =>
  until(
    () => `it is still busy: ${JSON.stringify(model.activity)}`,
    () => model.activity.sequences.length === 0,
  );

const going = (model: RemoteModel, count: number) =>
  until(
    () => `it does not begin: ${JSON.stringify(model.activity)}`,
    () => model.activity.sequences.length >= count,
  );

test('texts go on with the same tokens when the device is lost in the middle of them', async (t) => {
  const { model, thread, warnings } = await mortal(t, [{ loseAt: [] }]);
  const texts = async () => {
    await model.reset();
    return Promise.all([
      ids(model, [1, 5, 9], { temperature: 1, seed: 3, repeatPenalty: 1.3 }),
      ids(model, [1, 7], { schema: SCHEMA, ignoreEnd: false }),
      ids(
        model,
        Array.from({ length: 90 }, (_, i) => 20 + i),
      ),
      // It waits for a place.
      ids(model, [1, 2, 3], { maxTokens: 5 }),
    ]);
  };
  const expected = await texts();
  for (const loseAt of [[2], [0, 5, 6]]) {
    warnings.splice(0);
    thread.post({ loseAt });
    assert.deepEqual(await texts(), expected);
    const restored = warnings.filter((message) => message === 'device restored');
    // Two losses that come close are one.
    assert.ok(restored.length >= 1 && restored.length <= loseAt.length, warnings.join());
  }
  await model.dispose();
});

test('a device that does not come back fails who waits, typed, and is tried again for the next', async (t) => {
  const { model, thread, warnings } = await mortal(t, [{ loseAt: [] }]);
  const expected = await ids(model, [1, 5, 9]);
  for (const order of [{ opens: false }, { loseAt: [3] }] as const) thread.post(order);
  const waiting = [1, 2, 3].map((token) => ids(model, [token, 6], { maxTokens: 20 }));
  for (const one of waiting) await assert.rejects(one, { code: 'DEVICE_NOT_RESTORED' });
  assert.equal(warnings.filter((message) => message === 'device not restored').length, 3);
  await idle(model);
  thread.post({ opens: true });
  assert.deepEqual(await ids(model, [1, 5, 9]), expected);
  await model.dispose();
});

test('disposal ends texts that run, wait and are lost to a device, and leaves nothing', async (t) => {
  for (const isLost of [false, true]) {
    const { model, thread, warnings } = await mortal(t, [{ loseAt: [] }]);
    const texts = [1, 2, 3].map((token) => ids(model, [token, 6], ENDLESS));
    const held = ids(model, [5, 5], { ...ENDLESS, schema: { type: 'array', items: SCHEMA, minItems: 1000 } });
    // A device that comes back too late for them fails them before.
    const codes = isLost ? ['DISPOSED', 'DEVICE_NOT_RESTORED'] : ['DISPOSED'];
    const ends = [...texts, held].map((text) =>
      assert.rejects(text, ({ code }: Error & { code: string }) => codes.includes(code)),
    );
    await going(model, 4);
    if (isLost) {
      for (const order of [{ opens: false }, { loseAt: [0] }] as const) thread.post(order);
      await until(
        () => 'the device is not lost',
        () => warnings.includes('device not restored'),
      );
    }
    await Promise.all([model.dispose(), model.dispose()]);
    await Promise.all(ends);
    assert.throws(() => model.generate([1]), { code: 'DISPOSED' });
    await assert.rejects(model.reset(), { code: 'DISPOSED' });
    await assert.rejects(model.saveState([1]), { code: 'DISPOSED' });
  }
});

test('a text that waits for a place or a grammar is aborted at once, and no other', async (t) => {
  const { model } = await mortal(t, [], { sequences: 1 });
  const expected = await ids(model, [1, 5, 9], { maxTokens: 40 });
  const ending = new AbortController();
  // It is read as it comes, so that nobody takes its place.
  const first = assert.rejects(ids(model, [1, 8], { ...ENDLESS, signal: ending.signal }), {
    code: 'ABORTED',
  });
  await going(model, 1);
  for (const options of [{}, { schema: SCHEMA }, { maxTokens: 1 }]) {
    const controller = new AbortController();
    const aborted = assert.rejects(ids(model, [2, 2], { ...options, signal: controller.signal }), {
      code: 'ABORTED',
    });
    if (!('schema' in options)) await going(model, 2);
    controller.abort();
    await aborted;
    await until(
      () => JSON.stringify(model.activity),
      () => model.activity.sequences.length === 1,
    );
  }
  const left = ids(model, [1, 5, 9], { maxTokens: 40 });
  ending.abort();
  await first;
  assert.deepEqual(await left, expected);
  await idle(model);
});

test('a reader that does not read holds up no other', async (t) => {
  const { model } = await mortal(t, []);
  const slow = model.generate([1, 8], { ignoreEnd: true, maxTokens: 200 })[Symbol.asyncIterator]();
  await slow.next();
  await until(
    () => JSON.stringify(model.activity),
    () => model.activity.sequences.some(({ state }) => state === 'paused'),
  );
  assert.equal((await ids(model, [1, 5, 9], { maxTokens: 150 })).length, 150);
  let count = 1;
  for (let next = await slow.next(); !next.done; next = await slow.next()) if (next.value.token) count++;
  assert.equal(count, 200);
});

test('when its thread dies, what runs rejects, and it can still be disposed', async (t) => {
  const { model } = await mortal(t, [{ dies: 'begin', token: DEADLY }]);
  const controller = new AbortController();
  const of = { maxTokens: Number.POSITIVE_INFINITY, signal: controller.signal };
  const others = [[1], [2], [3]].map((prompt) => ids(model, prompt, of));
  const ends = others.map((text) => assert.rejects(text, { code: 'WORKER_LOST' }));
  const deadly = ids(model, [DEADLY]);
  await assert.rejects(deadly, { code: 'WORKER_LOST', message: /something that nobody expected/ });
  await Promise.all(ends);
  // Nobody listens any more.
  controller.abort();
  assert.equal(((await model.lost) as Error & { code: string }).code, 'WORKER_LOST');
  for (const call of [() => ids(model, [1]), () => model.reset(), () => model.loaded]) {
    await assert.rejects(Promise.resolve(call()), { code: 'WORKER_LOST' });
  }
  await model.dispose();
  assert.throws(() => model.generate([1]), { code: 'DISPOSED' });
});

test('a thread that dies while a model is opened, saved or disposed is told of', async (t) => {
  await assert.rejects(mortal(t, [{ dies: 'open' }]), { code: 'WORKER_LOST' });
  const { model } = await mortal(t, [{ dies: 'save' }]);
  await assert.rejects(model.saveState([1, 2]), { code: 'WORKER_LOST' });
  const disposed = await mortal(t, [{ dies: 'dispose' }]);
  await disposed.model.dispose();
});

test(
  'a thread that was started ahead and died before it was asked is told of',
  { timeout: HUNG_MS },
  async () => {
    const thread = nodeWorkerHost(new URL('data:text/javascript,throw new Error("no code")'), 1).start(
      'engine',
    );
    const died = new Promise<Error>((resolve) => thread.onFailure(resolve));
    thread.hold(true);
    assert.match((await died).message, /no code/);
    await assert.rejects(openInWorker(thread, BUNDLED, OPTIONS), { code: 'WORKER_LOST', message: /no code/ });
  },
);

test('a server tells of an engine whose thread died, and loads the model again', async (t) => {
  let loads = 0;
  let reload: Promise<unknown> = Promise.resolve();
  const open = async () => {
    if (++loads > 1) await reload;
    return (await mortal(t, [{ dies: 'begin', token: DEADLY }])).model;
  };
  const server = new ModelServer({ models: [{ id: 'm', created: 0, open }], parallel: 2 });
  t.after(() => server[Symbol.asyncDispose]());
  await server.loaded;
  const ask = (prompt: number[]) =>
    server.fetch(post('/v1/completions', { prompt, max_tokens: 3, ignore_eos: true }));
  const health = async () => {
    const response = await server.fetch(new Request('http://server/health'));
    return { code: response.status, ...((await response.json()) as { status: string; models?: object[] }) };
  };
  const healthy = () =>
    until(
      () => 'it does not become healthy',
      async () => (await health()).code === 200,
    );
  assert.equal((await ask([1])).status, 200);
  assert.deepEqual(await health(), { code: 200, status: 'ok' });
  let loadsAgain = () => {};
  reload = new Promise<void>((resolve) => (loadsAgain = resolve));
  const failed = await ask([DEADLY]);
  assert.equal(failed.status, 500);
  assert.match(await failed.text(), /WORKER_LOST/i);
  await until(
    () => 'it is not loaded again',
    () => loads === 2,
  );
  const models = [{ id: 'm', state: 'loading', progress: 0, lost: 'WORKER_LOST' }];
  assert.deepEqual(await health(), { code: 503, status: 'loading', progress: 0, models });
  // Whoever asks meanwhile waits for it.
  const meanwhile = ask([1]);
  loadsAgain();
  assert.equal((await meanwhile).status, 200);
  await healthy();
  reload = Promise.reject(new Error('the disk is gone'));
  reload.catch(() => {});
  assert.equal((await ask([DEADLY])).status, 500);
  await until(
    () => 'it is loaded',
    () => loads === 3,
  );
  await until(
    () => 'it is not told',
    async () => (await health()).status === 'lost',
  );
  assert.equal((await ask([1])).status, 503);
  reload = Promise.resolve();
  assert.equal((await ask([1])).status, 200);
  await healthy();
  assert.equal(loads, 5);
});
