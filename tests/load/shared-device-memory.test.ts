import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { Evictable } from '../../src/base/shared-room.ts';
import { DevicePipeline } from '../../src/devices/group/index.ts';
import { openNullDevice } from '../../src/devices/null/index.ts';
import { SharedDeviceMemory } from '../../src/load/shared-device-memory.ts';
import fc from '../support/fast-check.ts';

/** Weights that know whether they have memory. */
class Lodger implements Evictable {
  lastUse = 0;
  isThere = false;
  /** The next creation fails. */
  isRefused = false;
  creations = 0;

  constructor(readonly size: number) {}

  create(): void {
    assert.equal(this.isThere, false);
    if (this.isRefused) throw new RangeError('refused');
    this.creations++;
    this.isThere = true;
  }

  async release(): Promise<void> {
    await Promise.resolve();
    assert.equal(this.isThere, true);
    this.isThere = false;
  }
}

async function use(sharedMemory: SharedDeviceMemory, ...lodgers: Lodger[]): Promise<void> {
  await sharedMemory.room.hold(lodgers);
  for (const lodger of lodgers) lodger.lastUse = sharedMemory.room.now();
  sharedMemory.room.giveBack(lodgers);
}

test('what was used the longest time ago goes first, what is held never', async () => {
  const sharedMemory = await SharedDeviceMemory.open(openNullDevice(), { memory: 30 });
  const [a, b, c, d] = [10, 10, 10, 10].map((bytes) => new Lodger(bytes)) as [Lodger, Lodger, Lodger, Lodger];
  for (const lodger of [a, b, c, a]) await use(sharedMemory, lodger);
  assert.equal(sharedMemory.weights, 30);
  await use(sharedMemory, d);
  assert.deepEqual(
    [a, b, c, d].map(({ isThere }) => isThere),
    [true, false, true, true],
  );
  await sharedMemory.room.hold([c]);
  await use(sharedMemory, b);
  assert.deepEqual(
    [a, b, c, d].map(({ isThere }) => isThere),
    [false, true, true, true],
  );
  sharedMemory.room.giveBack([c]);
});

test('who finds everything held waits until something is given back', async () => {
  const sharedMemory = await SharedDeviceMemory.open(openNullDevice(), { memory: 20 });
  const [a, b] = [new Lodger(15), new Lodger(15)];
  await sharedMemory.room.hold([a]);
  let isThere = false;
  const waiting = sharedMemory.room.hold([b]).then(() => (isThere = true));
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(isThere, false);
  sharedMemory.room.giveBack([a]);
  await waiting;
  assert.deepEqual([a.isThere, b.isThere], [false, true]);
});

test('an abort ends the wait at once, in the line and at its head, and what came meanwhile is given back', async () => {
  const sharedMemory = await SharedDeviceMemory.open(openNullDevice(), { memory: 20 });
  const [a, b, c] = [15, 15, 4].map((bytes) => new Lodger(bytes)) as [Lodger, Lodger, Lodger];
  const isAborted = (error: unknown) => isRocmforgeError(error, 'ABORTED');
  await sharedMemory.room.hold([a]);
  const [first, second] = [new AbortController(), new AbortController()];
  const head = sharedMemory.room.hold([b], first.signal);
  const inLine = [sharedMemory.room.hold([c], second.signal), sharedMemory.room.reserve(1, second.signal)];
  second.abort();
  for (const waiting of inLine) await assert.rejects(waiting, isAborted);
  assert.equal(c.creations, 0);
  first.abort();
  await assert.rejects(head, isAborted);
  await assert.rejects(sharedMemory.room.hold([a], first.signal), isAborted);
  sharedMemory.room.giveBack([a]);
  await use(sharedMemory, b);
  await use(sharedMemory, c);
  assert.deepEqual([a.isThere, b.isThere, c.isThere, sharedMemory.room.unreserved], [false, true, true, 20]);
});

test('who leaves while it waits for room gets none', async () => {
  const sharedMemory = await SharedDeviceMemory.open(openNullDevice(), { memory: 20 });
  const [a, b] = [new Lodger(15), new Lodger(15)];
  await sharedMemory.room.hold([a]);
  const waiting = sharedMemory.room.hold([b]);
  await sharedMemory.room.leave(b);
  sharedMemory.room.giveBack([a]);
  await assert.rejects(waiting, (error) => isRocmforgeError(error, 'DISPOSED'));
  assert.deepEqual([b.creations, sharedMemory.weights], [0, 0]);
  await sharedMemory.room.hold([a]);
  assert.ok(a.isThere);
});

test('what cannot have room is refused, and what was held for it given back', async () => {
  const sharedMemory = await SharedDeviceMemory.open(openNullDevice(), { memory: 20 });
  const [a, b] = [new Lodger(15), new Lodger(15)];
  const isFull = (error: unknown) => isRocmforgeError(error, 'OUT_OF_MEMORY');
  await assert.rejects(sharedMemory.room.hold([new Lodger(21)]), isFull);
  await assert.rejects(sharedMemory.room.hold([a, b]), isFull);
  await sharedMemory.room.reserve(10);
  await assert.rejects(sharedMemory.room.hold([a]), isFull);
  await assert.rejects(sharedMemory.room.reserve(11), isFull);
  sharedMemory.room.free(10);
  b.isRefused = true;
  await assert.rejects(sharedMemory.room.hold([b]), RangeError);
  b.isRefused = false;
  await sharedMemory.room.hold([b]);
  assert.equal(sharedMemory.weights, 15);
  await using pipeline = new DevicePipeline([openNullDevice(), openNullDevice()]);
  await assert.rejects(SharedDeviceMemory.open(pipeline), {
    code: 'INVALID_ARGUMENT',
    message: /device: found 2 stages, expected one device or a group/,
  });
  await assert.rejects(SharedDeviceMemory.open(openNullDevice(), { memory: 0 }), (error) =>
    isRocmforgeError(error, 'INVALID_ARGUMENT'),
  );
});

test('twenty who need one at once create it once', async () => {
  const sharedMemory = await SharedDeviceMemory.open(openNullDevice(), { memory: 20 });
  const lodger = new Lodger(20);
  await Promise.all(Array.from({ length: 20 }, () => use(sharedMemory, lodger)));
  assert.equal(lodger.creations, 1);
});

test('whatever is asked for in whatever order, the budget holds and everybody gets a turn', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 2, maxLength: 6 });
  const asked = fc.array(fc.array(fc.nat(5), { minLength: 1, maxLength: 2 }), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(sizes, asked, async (bytes, wanted) => {
      const sharedMemory = await SharedDeviceMemory.open(openNullDevice(), { memory: 24 });
      const lodgers = bytes.map((size) => new Lodger(size));
      const user = async (indices: readonly number[]) => {
        const held = [...new Set(indices.map((i) => lodgers[i % lodgers.length] as Lodger))];
        await sharedMemory.room.hold(held);
        assert.ok(held.every(({ isThere }) => isThere));
        await Promise.resolve();
        assert.ok(held.every(({ isThere }) => isThere));
        const there = lodgers.filter(({ isThere }) => isThere);
        assert.ok(there.reduce((sum, { size }) => sum + size, 0) <= 24);
        for (const lodger of held) lodger.lastUse = sharedMemory.room.now();
        sharedMemory.room.giveBack(held);
      };
      await Promise.all(wanted.map(user));
      await Promise.all(lodgers.map((lodger) => sharedMemory.room.leave(lodger)));
      assert.equal(sharedMemory.weights, 0);
      assert.ok(lodgers.every(({ isThere }) => !isThere));
    }),
    { numRuns: 200 },
  );
});
