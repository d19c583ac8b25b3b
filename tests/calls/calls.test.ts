import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fail, RocmforgeError } from '../../src/base/errors.ts';
import { BrowserModel } from '../../src/browser/browser-model.ts';
import type { EngineCalls, ModelDescription } from '../../src/browser/engine-calls.ts';
import { CallClient, type CallAnswers, type CallTable, serveCalls, WINDOW } from '../../src/calls/index.ts';

type Listener = (message: unknown) => void;

/** Both ends of a channel that clones what crosses it, as workers' do; `die` ends the far one, `held` tells who is waited for. */
function connect<T extends CallTable<T>>(answers: CallAnswers<T>) {
  const near: Listener[] = [];
  const far: Listener[] = [];
  const failures: ((error: Error) => void)[] = [];
  const crossed: unknown[] = [];
  const held: boolean[] = [];
  const send = (to: readonly Listener[], message: unknown) => {
    const clone: unknown = structuredClone(message);
    if (to === near) crossed.push(clone);
    setImmediate(() => to.forEach((listener) => listener(clone)));
  };
  serveCalls<T>(
    { post: (message) => send(near, message), onMessage: (listener) => far.push(listener) },
    answers,
  );
  const client = new CallClient<T>({
    post: (message) => send(far, message),
    onMessage: (listener) => near.push(listener),
    onFailure: (listener) => failures.push(listener),
    hold: (is) => held.push(is),
    terminate: async () => {},
  });
  const die = () => failures.forEach((listener) => listener(new Error('it died')));
  return { client, die, crossed, held };
}

/** Lets everything that is under way arrive. */
async function settle(): Promise<void> {
  for (let turns = 0; turns < 100; turns++) await new Promise(setImmediate);
}

interface Echo {
  readonly echo: { asks: unknown; value: unknown; answer: unknown };
}

interface Count {
  readonly count: { asks: number; value: number; answer: string };
}

test('typed errors cross as what they are, and what cannot cross is a failure of its call alone', async () => {
  const { client } = connect<Echo>({
    echo: async (asks) => {
      if (asks === 'fail') fail('MODEL_IN_USE', { model: 'a' });
      return asks === 'function' ? () => {} : asks;
    },
  });
  await assert.rejects(client.call('echo', 'fail'), { code: 'MODEL_IN_USE', params: { model: 'a' } });
  const others = client.call('echo', 'beside it');
  await assert.rejects(client.call('echo', 'function'), { name: 'DataCloneError' });
  assert.equal(await others, 'beside it');
  await assert.rejects(
    client.call('echo', () => {}),
    { name: 'DataCloneError' },
  );
  assert.equal(await client.call('echo', 'still there'), 'still there');
  await assert.rejects(client.call('toString' as 'echo', 0), { code: 'INVALID_ARGUMENT' });
});

test('a call whose value cannot cross fails, and is left at the other end', async () => {
  let left = false;
  const { client } = connect<Echo>({
    echo: async (_, context) => {
      context.signal.addEventListener('abort', () => (left = context.left));
      context.tell(() => {});
      await new Promise(() => {});
    },
  });
  await assert.rejects(client.call('echo', 0), { name: 'DataCloneError' });
  assert.equal(left, true);
});

test('the values of many calls are one message, and so are their ends', async () => {
  const wakes: (() => void)[] = [];
  const { client, crossed } = connect<Count>({
    count: async (asks, context) => {
      await new Promise<void>((resolve) => wakes.push(resolve));
      for (let i = 0; i < 2; i++) context.tell(10 * asks + i);
      return `ended ${asks}`;
    },
  });
  const told: unknown[] = [];
  for (const asks of [1, 2, 3]) {
    client.begin('count', asks, {
      value: (value) => told.push(value),
      done: (answer) => told.push(answer),
      failed: (error) => told.push(error),
    });
  }
  await settle();
  assert.deepEqual(crossed, []);
  for (const wake of wakes) wake();
  await settle();
  assert.equal(crossed.length, 2);
  assert.deepEqual(told, [10, 11, 20, 21, 30, 31, 'ended 1', 'ended 2', 'ended 3']);
});

test('a reader that takes nothing is sent so much and no more', async () => {
  let sent = 0;
  const { client } = connect<Count>({
    count: async (_, context) => {
      for (; !context.left; sent++) await context.send(sent);
      return 'left';
    },
  });
  const taken: unknown[] = [];
  const call = client.begin('count', 0, { value: (value) => taken.push(value), done() {}, failed() {} });
  await settle();
  assert.equal(taken.length, WINDOW);
  for (let i = 0; i < WINDOW; i++) call.more();
  await settle();
  assert.equal(taken.length, 2 * WINDOW);
  call.leave();
  await settle();
  assert.equal(sent, 2 * WINDOW);
});

test('a call that is finished still answers, one that is left does not', async () => {
  const { client } = connect<Count>({
    count: async (asks, context) => {
      const finished = new Promise<void>((resolve) => context.react({ finish: resolve }));
      for (let i = 0; i < asks; i++) context.tell(i);
      await finished;
      return 'finished';
    },
  });
  const begin = () => {
    const told: unknown[] = [];
    const tell = (what: unknown) => told.push(what);
    return { told, call: client.begin('count', 2, { value: tell, done: tell, failed: tell }) };
  };
  const [first, second] = [begin(), begin()];
  await settle();
  first.call.finish();
  second.call.leave();
  await settle();
  assert.deepEqual(first.told, [0, 1, 'finished']);
  assert.deepEqual(second.told, [0, 1]);
});

test('the worker is held while somebody waits for it, but not for calls that nobody waits for', async () => {
  const { client, held, die } = connect<Echo>({ echo: async () => new Promise(() => {}) });
  const told: Error[] = [];
  const listener = { value() {}, done() {}, failed: (error: Error) => told.push(error) };
  client.begin('echo', 0, listener, { holds: false });
  assert.deepEqual(held, []);
  client.begin('echo', 1, listener);
  const third = client.begin('echo', 2, listener);
  third.leave();
  assert.deepEqual(held, [true]);
  die();
  assert.deepEqual(held, [true, false]);
  assert.equal(told.length, 2);
  assert.equal((await client.lost).code, 'WORKER_LOST');
  client.begin('echo', 3, listener);
  assert.equal(told.length, 3);
});

test('a model whose worker died is disposed all the same, once', async () => {
  const never = async () => new Promise<never>(() => {});
  const { client, die } = connect<EngineCalls>({
    open: never,
    progress: never,
    chat: never,
    generate: never,
    fetch: never,
    loaded: never,
    reset: never,
    dispose: never,
  });
  const model = new BrowserModel(client, {} as ModelDescription);
  const reset = model.reset();
  die();
  await assert.rejects(reset, { code: 'WORKER_LOST' });
  await model.dispose();
  await model.dispose();
  assert.throws(() => model.generate('a'), RocmforgeError);
});
