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

test('a model is found by each of its names, and a model of such a name comes first', async () => {
  const sources = [{ ...tinySource('a'), aliases: ['a', 'b', 'x'] }, tinySource('b')];
  await using pool = new ModelPool(sources, { maxModels: 2 });
  using lease = await pool.acquire('x');
  assert.deepEqual([lease.id, pool.statusOf('x').id, pool.statusOf('b').id], ['a', 'a', 'b']);
  assert.ok(pool.isModel('x') && !pool.isModel('y'));
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

/** Sources that take so much memory, of which the function tells how much is taken now, and was at most. */
function weighingPool(sizes: Readonly<Record<string, number>>, memory: number) {
  let taken = 0;
  let most = 0;
  let measured = 0;
  const sources = Object.entries(sizes).map(([id, size]) => {
    const source = tinySource(id, {}, openNullDevice);
    return {
      ...source,
      memory: async () => {
        measured++;
        return size;
      },
      open: async (of: Parameters<typeof source.open>[0]) => {
        most = Math.max(most, (taken += size));
        const model = await source.open(of);
        const dispose = model.dispose.bind(model);
        model.dispose = async () => {
          await dispose();
          taken -= size;
        };
        return model;
      },
    };
  });
  const pool = new ModelPool(sources, { memory });
  return { pool, counts: () => ({ taken, most, measured }) };
}

test('models are unloaded for others by their memory: the least recently used first, and only as many as it takes', async () => {
  const { pool, counts } = weighingPool({ a: 60, b: 60, c: 30, d: 10, e: 101 }, 100);
  await using _pool = pool;
  const use = async (id: string) => (await pool.acquire(id))[Symbol.dispose]();
  const ready = () => pool.list().flatMap(({ id, state }) => (state === 'ready' ? [id] : []));
  for (const id of ['a', 'c', 'd']) await use(id);
  assert.deepEqual(ready(), ['a', 'c', 'd'], 'all three fit');
  await use('b');
  assert.deepEqual(ready(), ['b', 'c', 'd'], 'the oldest is enough');
  await use('c');
  await use('a');
  assert.deepEqual(ready(), ['a', 'c'], 'and here it is not');
  await assert.rejects(
    use('e'),
    (error) => isRocmforgeError(error, 'MODELS_MEMORY') && /e needs 101 B, .* 100 B/.test(error.message),
  );
  assert.deepEqual(ready(), ['a', 'c'], 'nobody goes for what cannot come');
  assert.deepEqual(counts(), { taken: 90, most: 100, measured: 5 }, 'each is measured once');

  using held = await pool.acquire('a');
  const waiting = pool.acquire('b');
  const aborted = new AbortController();
  const leaving = pool.acquire('b', aborted.signal);
  aborted.abort();
  await assert.rejects(leaving, { code: 'ABORTED' });
  assert.equal(pool.statusOf('b').state, 'unloaded', 'it waits for those that run');
  held[Symbol.dispose]();
  (await waiting)[Symbol.dispose]();
  assert.deepEqual([ready().includes('b'), counts().most <= 100], [true, true]);
});

test('whatever is asked for in whatever order, models never take more than their memory', async () => {
  const sizes = { a: 50, b: 30, c: 20, d: 45, e: 5 };
  const { pool, counts } = weighingPool(sizes, 100);
  await Promise.all(
    Array.from({ length: 60 }, async (_, i) => {
      using lease = await pool.acquire('abcde'[(i * 7 + (i >> 2)) % 5]);
      for await (const _chunk of lease.model.generate([5, 6, 7], { maxTokens: 2 }));
    }),
  );
  await pool[Symbol.asyncDispose]();
  const { taken, most } = counts();
  assert.equal(taken, 0);
  assert.ok(most > 50 && most <= 100, `${most}`);
});

test('a model that cannot be measured fails as one that cannot be opened, and is measured again', async () => {
  let tries = 0;
  const source = {
    ...tinySource('a', {}, openNullDevice),
    memory: async () => {
      if (++tries === 1) throw new Error('its file is broken');
      return 10;
    },
  };
  await using pool = new ModelPool([source], { memory: 100 });
  await assert.rejects(pool.acquire('a'), { code: 'MODEL_NOT_LOADED' });
  assert.equal(pool.statusOf('a').state, 'failed');
  (await pool.acquire('a'))[Symbol.dispose]();
  assert.deepEqual([tries, pool.statusOf('a').state], [2, 'ready']);
  assert.throws(() => new ModelPool([source], { memory: 100, maxModels: 1 }), { code: 'INVALID_ARGUMENT' });
});

test('each request says how long its model stays loaded after it', async () => {
  const { pool } = countingPool(['a'], 1);
  await using _pool = pool;
  const status = () => pool.statusOf('a');
  const use = async (seconds?: number) => {
    const lease = await pool.acquire('a');
    if (seconds !== undefined) pool.keep('a', seconds);
    return lease;
  };
  (await use(1000))[Symbol.dispose]();
  const left = (status().expires ?? 0) - Date.now();
  assert.ok(left > 0 && left <= 1e6, `${left} ms`);
  using lease = await use(0);
  assert.deepEqual([status().state, status().expires], ['ready', undefined], 'it is used');
  lease[Symbol.dispose]();
  while (status().state === 'ready') await new Promise(setImmediate);
  assert.equal(status().expires, undefined);
  pool.keep('a', 0);
  assert.equal(status().state, 'unloaded', 'what is not loaded has no time');
  (await use())[Symbol.dispose]();
  assert.deepEqual([status().state, status().expires], ['ready', undefined], 'and then as the pool has it');
  pool.keep('a', 1000);
  assert.ok(status().expires, 'one that nobody uses');
});
