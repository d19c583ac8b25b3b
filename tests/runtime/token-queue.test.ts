import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TokenQueue } from '../../src/runtime/token-queue.ts';

test('values come out in order, before the end, whether they were waited for or waiting', async () => {
  const queue = new TokenQueue<number, string>(2);
  const early = queue.read();
  queue.push(1);
  assert.deepEqual(await early, { value: 1 });
  queue.push(2);
  assert.equal(queue.isBehind, false);
  queue.push(3);
  assert.equal(queue.isBehind, true);
  queue.end('done');
  assert.deepEqual(await queue.read(), { value: 2 });
  assert.deepEqual(await queue.read(), { value: 3 });
  assert.deepEqual(await queue.read(), { end: 'done' });
  assert.deepEqual(await queue.read(), { end: 'done' });
});

test('a failure comes at once, and no end counts after it', async () => {
  const queue = new TokenQueue<number, string>(2);
  queue.push(1);
  queue.fail(new Error('lost'));
  queue.end('done');
  await assert.rejects(queue.read(), /lost/);
  const cleared = new TokenQueue<number, string>(2);
  cleared.push(1);
  assert.equal(cleared.clear(), 1);
  cleared.end('done');
  assert.deepEqual(await cleared.read(), { end: 'done' });
});

test('a later end counts instead of an earlier one, but not instead of a failure', async () => {
  const queue = new TokenQueue<number, string>(2);
  queue.push(1);
  queue.end('length');
  assert.equal(queue.clear(), 1);
  queue.end('stop');
  assert.deepEqual(await queue.read(), { end: 'stop' });
  const failed = new TokenQueue<number, string>(2);
  failed.fail(new Error('lost'));
  failed.end('stop');
  await assert.rejects(failed.read(), /lost/);
});
