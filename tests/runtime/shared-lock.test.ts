import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { SharedLock } from '../../src/runtime/shared-lock.ts';

test('holders share; one who is alone waits for them and holds up those behind', async () => {
  const lock = new SharedLock();
  const order: string[] = [];
  const enter = async (name: string, how: 'share' | 'alone') => {
    const leave = await lock[how]();
    order.push(name);
    return leave;
  };
  const [first, second] = await Promise.all([enter('a', 'share'), enter('b', 'share')]);
  const alone = enter('c', 'alone');
  const behind = enter('d', 'share');
  first();
  await new Promise(setImmediate);
  assert.deepEqual(order, ['a', 'b']);
  second();
  const leave = await alone;
  await new Promise(setImmediate);
  assert.deepEqual(order, ['a', 'b', 'c']);
  leave();
  (await behind)();
  (await enter('e', 'alone'))();
  assert.deepEqual(order, ['a', 'b', 'c', 'd', 'e']);
});

test('who gives up waiting holds up nobody', async () => {
  const lock = new SharedLock();
  const leave = await lock.share();
  const [first, second] = [new AbortController(), new AbortController()];
  const alone = lock.alone(first.signal);
  const behind = lock.share(second.signal);
  second.abort();
  await assert.rejects(behind, (error) => isRocmforgeError(error, 'ABORTED'));
  first.abort();
  await assert.rejects(alone, (error) => isRocmforgeError(error, 'ABORTED'));
  (await lock.share())();
  leave();
  (await lock.alone())();
});

test('those who wait are refused, those who hold it stay', async () => {
  const lock = new SharedLock();
  const leave = await lock.alone();
  const waiting = [lock.share(), lock.alone(), lock.share()];
  const why = new Error('over');
  lock.refuse(why);
  for (const { status, reason } of (await Promise.allSettled(waiting)) as PromiseRejectedResult[]) {
    assert.deepEqual([status, reason], ['rejected', why]);
  }
  leave();
  (await lock.alone())();
});
