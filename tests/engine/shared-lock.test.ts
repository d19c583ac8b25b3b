import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedLock } from '../../src/engine/shared-lock.ts';

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
