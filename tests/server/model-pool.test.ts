import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { openNullDevice } from '../../src/devices/null/index.ts';
import { ModelPool } from '../../src/server/model-pool.ts';
import { tinySource } from '../support/test-server.ts';

function countingPool(names: readonly string[], maxModels: number) {
  const opens = new Map<string, number>();
  const sources = names.map((id) =>
    tinySource(id, {}, () => {
      opens.set(id, (opens.get(id) ?? 0) + 1);
      return openNullDevice();
    }),
  );
  return { pool: new ModelPool(sources, { maxModels }), opens };
}

test('twenty who ask at the same time cause one load', async () => {
  const { pool, opens } = countingPool(['a'], 1);
  await using _pool = pool;
  const leases = await Promise.all(Array.from({ length: 20 }, () => pool.acquire('a')));
  assert.equal(opens.get('a'), 1);
  assert.equal(new Set(leases.map(({ model }) => model)).size, 1);
  assert.equal(pool.statusOf('a').users, 20);
  for (const lease of leases) lease[Symbol.dispose]();
  assert.equal(pool.statusOf('a').users, 0);
});

test('the model that was not used for the longest time makes room', async () => {
  const { pool, opens } = countingPool(['a', 'b', 'c'], 2);
  await using _pool = pool;
  for (const id of ['a', 'b', 'a', 'c']) (await pool.acquire(id))[Symbol.dispose]();
  const states = () => pool.list().map(({ state }) => state);
  assert.deepEqual(states(), ['ready', 'unloaded', 'ready']);
  (await pool.acquire('b'))[Symbol.dispose]();
  assert.deepEqual(states(), ['unloaded', 'ready', 'ready']);
  assert.deepEqual(Object.fromEntries(opens), { a: 1, b: 2, c: 1 });
});

test('a model in use stays until it is left, and those who ask later wait behind', async () => {
  const { pool } = countingPool(['a', 'b'], 1);
  await using _pool = pool;
  const order: string[] = [];
  const first = await pool.acquire('a');
  const other = pool.acquire('b').then((lease) => {
    order.push('b');
    return lease;
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  const again = pool.acquire('a').then((lease) => {
    order.push('a');
    return lease;
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(order, []);
  const { model } = first;
  first[Symbol.dispose]();
  (await other)[Symbol.dispose]();
  assert.deepEqual(order, ['b']);
  assert.throws(
    () => model.generate([5]),
    (error) => isRocmforgeError(error, 'DISPOSED'),
  );
  (await again)[Symbol.dispose]();
  assert.deepEqual(order, ['b', 'a']);
});

test('a model that cannot be released makes room all the same', async () => {
  const source = tinySource('a', {}, openNullDevice);
  const stubborn = {
    ...source,
    open: async (of: Parameters<typeof source.open>[0]) => {
      const model = await source.open(of);
      const dispose = model.dispose.bind(model);
      model.dispose = async () => {
        await dispose();
        throw new Error('not released');
      };
      return model;
    },
  };
  await using pool = new ModelPool([stubborn, tinySource('b', {}, openNullDevice)], { maxModels: 1 });
  for (const id of ['a', 'b', 'a', 'b']) (await pool.acquire(id))[Symbol.dispose]();
  assert.deepEqual(
    pool.list().map(({ state }) => state),
    ['unloaded', 'ready'],
  );
});

test('many tasks over more models than fit end, and never more are open than may be', async () => {
  let open = 0;
  let most = 0;
  const names = ['a', 'b', 'c', 'd'];
  const sources = names.map((id) => {
    const source = tinySource(id, {}, openNullDevice);
    return {
      ...source,
      open: async (of: Parameters<typeof source.open>[0]) => {
        most = Math.max(most, ++open);
        const model = await source.open(of);
        const dispose = model.dispose.bind(model);
        model.dispose = async () => {
          await dispose();
          open--;
        };
        return model;
      },
    };
  });
  const pool = new ModelPool(sources, { maxModels: 2 });
  await Promise.all(
    Array.from({ length: 40 }, async (_, i) => {
      using lease = await pool.acquire(names[(i * 7) % 4]);
      for await (const _chunk of lease.model.generate([5, 6, 7], { maxTokens: 2 }));
    }),
  );
  await pool[Symbol.asyncDispose]();
  assert.equal(open, 0);
  assert.equal(most, 2);
});

test('a load that fails is tried again by the next who asks', async () => {
  let tries = 0;
  const source = tinySource('a', {}, openNullDevice);
  const open: typeof source.open = (of) => {
    if (tries++ === 0) return Promise.reject(new Error('out of luck'));
    return source.open(of);
  };
  await using pool = new ModelPool([{ ...source, open }], { maxModels: 1 });
  await assert.rejects(pool.acquire('a'), (error) => {
    assert.ok(isRocmforgeError(error, 'MODEL_NOT_LOADED'));
    assert.doesNotMatch(error.message, /out of luck/, 'why is for the log');
    return /out of luck/.test(String(error.cause));
  });
  assert.equal(pool.statusOf('a').users, 0);
  using lease = await pool.acquire('a');
  assert.ok(lease.model);
});

test('who stops waiting leaves the load to the others', async () => {
  const { pool, opens } = countingPool(['a'], 1);
  await using _pool = pool;
  const leaving = new AbortController();
  const left = pool.acquire('a', leaving.signal);
  const stayed = pool.acquire('a');
  leaving.abort();
  await assert.rejects(left, (error) => isRocmforgeError(error, 'ABORTED'));
  using _lease = await stayed;
  assert.equal(opens.get('a'), 1);
  assert.equal(pool.statusOf('a').users, 1);
});

test('a model that nobody waits for any more makes room when it has come', async () => {
  const leaving = new AbortController();
  const open: string[] = [];
  let most = 0;
  const sources = ['a', 'b'].map((id) => {
    const source = tinySource(id, {}, openNullDevice);
    return {
      ...source,
      open: async (of: Parameters<typeof source.open>[0]) => {
        leaving.abort();
        const model = await source.open(of);
        most = Math.max(most, open.push(id));
        const dispose = model.dispose.bind(model);
        model.dispose = async () => {
          await dispose();
          open.pop();
        };
        return model;
      },
    };
  });
  await using pool = new ModelPool(sources, { maxModels: 1 });
  await assert.rejects(pool.acquire('a', leaving.signal), (error) => isRocmforgeError(error, 'ABORTED'));
  assert.equal(pool.statusOf('a').state, 'loading');
  using _lease = await pool.acquire('b');
  assert.deepEqual([open, most], [['b'], 1]);
  assert.deepEqual(
    pool.list().map(({ state }) => state),
    ['unloaded', 'ready'],
  );
});

test('a name that is not served is told from those that are', async () => {
  const { pool } = countingPool(['a', 'b'], 1);
  await using _pool = pool;
  await assert.rejects(pool.acquire('z'), (error) => {
    assert.ok(isRocmforgeError(error, 'MODEL_NOT_FOUND'));
    assert.equal(error.params.known, 'a, b');
    return true;
  });
});

test('a model that nobody uses is unloaded when asked for or after a while, and loaded again by the next request', async () => {
  const opens: string[] = [];
  const sources = ['a', 'b'].map((id) =>
    tinySource(id, {}, () => {
      opens.push(id);
      return openNullDevice();
    }),
  );
  await using pool = new ModelPool(sources, { maxModels: 2, idleSeconds: 0.001 });
  const held = await pool.acquire('a');
  await assert.rejects(pool.unload('a'), (error) => isRocmforgeError(error, 'MODEL_BUSY'));
  (await pool.acquire('b'))[Symbol.dispose]();
  while (pool.statusOf('b').state !== 'unloaded') await new Promise((resolve) => setTimeout(resolve, 1));
  assert.equal(pool.statusOf('a').state, 'ready', 'one that is used does not sleep');
  held[Symbol.dispose]();
  await pool.unload('a');
  await pool.unload('a');
  assert.equal(pool.statusOf('a').state, 'unloaded');
  (await pool.acquire('a'))[Symbol.dispose]();
  assert.deepEqual(opens, ['a', 'b', 'a']);
  await assert.rejects(pool.unload('z'), (error) => isRocmforgeError(error, 'MODEL_NOT_FOUND'));
});
