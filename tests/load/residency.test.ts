import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { openNullDevice } from '../../src/devices/null/index.ts';
import { Residency, type Resident } from '../../src/load/residency.ts';

/** Weights that know whether they have memory. */
class Lodger implements Resident {
  lastUse = 0;
  isThere = false;
  /** The next creation fails. */
  isRefused = false;
  creations = 0;

  constructor(readonly byteLength: number) {}

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

async function use(residency: Residency, ...lodgers: Lodger[]): Promise<void> {
  await residency.hold(lodgers);
  for (const lodger of lodgers) lodger.lastUse = residency.now();
  residency.giveBack(lodgers);
}

test('what was used the longest time ago goes first, what is held never', async () => {
  const residency = await Residency.open(openNullDevice(), { memory: 30 });
  const [a, b, c, d] = [10, 10, 10, 10].map((bytes) => new Lodger(bytes)) as [Lodger, Lodger, Lodger, Lodger];
  for (const lodger of [a, b, c, a]) await use(residency, lodger);
  assert.equal(residency.weights, 30);
  await use(residency, d);
  assert.deepEqual(
    [a, b, c, d].map(({ isThere }) => isThere),
    [true, false, true, true],
  );
  await residency.hold([c]);
  await use(residency, b);
  assert.deepEqual(
    [a, b, c, d].map(({ isThere }) => isThere),
    [false, true, true, true],
  );
  residency.giveBack([c]);
});

test('who finds everything held waits until something is given back', async () => {
  const residency = await Residency.open(openNullDevice(), { memory: 20 });
  const [a, b] = [new Lodger(15), new Lodger(15)];
  await residency.hold([a]);
  let isThere = false;
  const waiting = residency.hold([b]).then(() => (isThere = true));
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(isThere, false);
  residency.giveBack([a]);
  await waiting;
  assert.deepEqual([a.isThere, b.isThere], [false, true]);
});

test('an abort ends the wait at once, in the line and at its head, and what came meanwhile is given back', async () => {
  const residency = await Residency.open(openNullDevice(), { memory: 20 });
  const [a, b, c] = [15, 15, 4].map((bytes) => new Lodger(bytes)) as [Lodger, Lodger, Lodger];
  const isAborted = (error: unknown) => isRocmforgeError(error, 'ABORTED');
  await residency.hold([a]);
  const [first, second] = [new AbortController(), new AbortController()];
  const head = residency.hold([b], first.signal);
  const inLine = [residency.hold([c], second.signal), residency.reserve(1, second.signal)];
  second.abort();
  for (const waiting of inLine) await assert.rejects(waiting, isAborted);
  assert.equal(c.creations, 0);
  first.abort();
  await assert.rejects(head, isAborted);
  await assert.rejects(residency.hold([a], first.signal), isAborted);
  residency.giveBack([a]);
  await use(residency, b);
  await use(residency, c);
  assert.deepEqual([a.isThere, b.isThere, c.isThere, residency.forWeights], [false, true, true, 20]);
});

test('who leaves while it waits for room gets none', async () => {
  const residency = await Residency.open(openNullDevice(), { memory: 20 });
  const [a, b] = [new Lodger(15), new Lodger(15)];
  await residency.hold([a]);
  const waiting = residency.hold([b]);
  await residency.leave(b);
  residency.giveBack([a]);
  await assert.rejects(waiting, (error) => isRocmforgeError(error, 'DISPOSED'));
  assert.deepEqual([b.creations, residency.weights], [0, 0]);
  await residency.hold([a]);
  assert.ok(a.isThere);
});

test('what cannot have room is refused, and what was held for it given back', async () => {
  const residency = await Residency.open(openNullDevice(), { memory: 20 });
  const [a, b] = [new Lodger(15), new Lodger(15)];
  const isFull = (error: unknown) => isRocmforgeError(error, 'OUT_OF_MEMORY');
  await assert.rejects(residency.hold([new Lodger(21)]), isFull);
  await assert.rejects(residency.hold([a, b]), isFull);
  await residency.reserve(10);
  await assert.rejects(residency.hold([a]), isFull);
  await assert.rejects(residency.reserve(11), isFull);
  residency.free(10);
  b.isRefused = true;
  await assert.rejects(residency.hold([b]), RangeError);
  b.isRefused = false;
  await residency.hold([b]);
  assert.equal(residency.weights, 15);
  await assert.rejects(Residency.open(openNullDevice(), { memory: 0 }), (error) =>
    isRocmforgeError(error, 'INVALID_ARGUMENT'),
  );
});

test('twenty who need one at once create it once', async () => {
  const residency = await Residency.open(openNullDevice(), { memory: 20 });
  const lodger = new Lodger(20);
  await Promise.all(Array.from({ length: 20 }, () => use(residency, lodger)));
  assert.equal(lodger.creations, 1);
});

test('whatever is asked for in whatever order, the budget holds and everybody gets a turn', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 2, maxLength: 6 });
  const asked = fc.array(fc.array(fc.nat(5), { minLength: 1, maxLength: 2 }), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(sizes, asked, async (bytes, wanted) => {
      const residency = await Residency.open(openNullDevice(), { memory: 24 });
      const lodgers = bytes.map((size) => new Lodger(size));
      const user = async (indices: readonly number[]) => {
        const held = [...new Set(indices.map((i) => lodgers[i % lodgers.length] as Lodger))];
        await residency.hold(held);
        assert.ok(held.every(({ isThere }) => isThere));
        await Promise.resolve();
        assert.ok(held.every(({ isThere }) => isThere));
        const there = lodgers.filter(({ isThere }) => isThere);
        assert.ok(there.reduce((sum, { byteLength }) => sum + byteLength, 0) <= 24);
        for (const lodger of held) lodger.lastUse = residency.now();
        residency.giveBack(held);
      };
      await Promise.all(wanted.map(user));
      await Promise.all(lodgers.map((lodger) => residency.leave(lodger)));
      assert.equal(residency.weights, 0);
      assert.ok(lodgers.every(({ isThere }) => !isThere));
    }),
    { numRuns: 200 },
  );
});
