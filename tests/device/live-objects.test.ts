import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LiveObjects, MemoryBudget } from '../../src/device/index.ts';

test('the end of a device disposes streams first, then the rest, once', async () => {
  const live = new LiveObjects('device test');
  const order: string[] = [];
  const buffer = live.add({
    [Symbol.dispose]: () => {
      order.push('buffer');
      live.remove(buffer);
    },
  });
  const stream = live.add({
    [Symbol.asyncDispose]: async () => {
      await Promise.resolve();
      order.push('stream');
      live.remove(stream);
    },
  });
  assert.equal(live.count, 2);
  live.check();
  await live.disposeAll();
  await live.disposeAll();
  assert.deepEqual(order, ['stream', 'buffer']);
  assert.equal(live.count, 0);
  assert.throws(() => live.check(), {
    code: 'DISPOSED',
    message: 'device test was used after it was disposed',
  });
});

test('a budget says what was wanted and what there is', () => {
  const budget = new MemoryBudget('test', 1000);
  budget.take(600, 'weights');
  assert.throws(() => budget.take(401, 'cache'), {
    code: 'OUT_OF_MEMORY',
    params: { device: 'test', what: 'cache', bytes: 401, free: 400 },
  });
  assert.deepEqual(budget.info, { total: 1000, free: 400 });
  budget.give(600);
  assert.deepEqual(budget.info, { total: 1000, free: 1000 });
});
