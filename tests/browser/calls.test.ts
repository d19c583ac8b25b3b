import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fail, RocmforgeError } from '../../src/base/errors.ts';
import { BrowserModel } from '../../src/browser/browser-model.ts';
import { CallClient } from '../../src/browser/calls/call-client.ts';
import { type CallContext, serveCalls } from '../../src/browser/calls/serve-calls.ts';
import type { ModelDescription } from '../../src/browser/engine-calls.ts';

type Listener = (message: unknown) => void;

/** Both ends of a channel that clones what crosses it, as workers' do; `die` ends the far one. */
function connect(answer: (call: unknown, context: CallContext) => Promise<unknown>) {
  const near: Listener[] = [];
  const far: Listener[] = [];
  const failures: ((error: Error) => void)[] = [];
  const send = (to: readonly Listener[], message: unknown) => {
    const clone: unknown = structuredClone(message);
    setImmediate(() => to.forEach((listener) => listener(clone)));
  };
  serveCalls({ post: (message) => send(near, message), onMessage: (listener) => far.push(listener) }, answer);
  const client = new CallClient({
    post: (message) => send(far, message),
    onMessage: (listener) => near.push(listener),
    onFailure: (listener) => failures.push(listener),
    hold: () => {},
    terminate: async () => {},
  });
  return { client, die: () => failures.forEach((listener) => listener(new Error('it died'))) };
}

test('typed errors cross as what they are, and what cannot cross is a failure of its call alone', async () => {
  const { client } = connect(async (call) => {
    if (call === 'fail') fail('MODEL_IN_USE', { model: 'a' });
    return call === 'function' ? () => {} : call;
  });
  await assert.rejects(client.call('fail'), { code: 'MODEL_IN_USE', params: { model: 'a' } });
  await assert.rejects(client.call('function'), { name: 'DataCloneError' });
  await assert.rejects(
    client.call(() => {}),
    { name: 'DataCloneError' },
  );
  assert.equal(await client.call('still there'), 'still there');
});

test('a reader that takes nothing is sent so much and no more', async () => {
  let sent = 0;
  const { client } = connect(async (_, context) => {
    for (; !context.left; sent++) await context.send(sent);
  });
  const taken: unknown[] = [];
  const call = client.begin('values', { value: (value) => taken.push(value), done() {}, failed() {} });
  const settled = async () => {
    for (let turns = 0; turns < 100; turns++) await new Promise(setImmediate);
    return taken.length;
  };
  const first = await settled();
  assert.ok(first > 0 && first < 100, `${first} values`);
  call.more();
  call.more();
  assert.equal(await settled(), first + 2);
  call.leave();
  await settled();
  assert.equal(sent, first + 2);
});

test('a model whose worker died is disposed all the same, once', async () => {
  const { client, die } = connect(async () => new Promise(() => {}));
  const model = new BrowserModel(client, {} as ModelDescription);
  const reset = model.reset();
  die();
  await assert.rejects(reset, { code: 'WORKER_LOST' });
  await model.dispose();
  await model.dispose();
  assert.throws(() => model.generate('a'), RocmforgeError);
});
