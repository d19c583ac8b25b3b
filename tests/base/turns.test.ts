import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finish, inTurns, type Steps } from '../../src/base/turns.ts';

/** Longer than a turn. */
const LONG_MS = 10;

/** Work of so many steps, each of which takes a whole turn and notes its name. */
function* work(name: string, steps: number, done: string[]): Steps<string> {
  for (let step = 0; step < steps; step++) {
    const end = performance.now() + LONG_MS;
    while (performance.now() < end);
    done.push(name);
    yield;
  }
  return `${name} ended`;
}

test('of several long works one has each turn, and all others theirs before it has the next', async () => {
  const done: string[] = [];
  const ends = await Promise.all(['a', 'b', 'c'].map((name) => inTurns(work(name, 3, done), 'the work')));
  assert.deepEqual(ends, ['a ended', 'b ended', 'c ended']);
  // The first begins at once, when nobody waits yet.
  assert.equal(done.join(''), 'aabcabcbc');
});

test('work that is aborted while it waits rejects at its turn, and the others go on', async () => {
  const done: string[] = [];
  const controller = new AbortController();
  const others = ['a', 'b'].map((name) => inTurns(work(name, 2, done), 'the work'));
  const aborted = inTurns(work('c', 2, done), 'the work', controller.signal);
  controller.abort();
  await assert.rejects(aborted, { code: 'ABORTED' });
  assert.deepEqual(await Promise.all(others), ['a ended', 'b ended']);
  assert.equal(done.join(''), 'aabb');
  assert.equal(finish(work('d', 1, done)), 'd ended');
});

test('work that fails leaves its turns to the others', async () => {
  const done: string[] = [];
  function* failing(): Steps {
    yield* work('a', 1, done);
    throw new Error('it failed');
  }
  const failed = inTurns(failing(), 'the work');
  const other = inTurns(work('b', 2, done), 'the work');
  await assert.rejects(failed, /it failed/);
  assert.equal(await other, 'b ended');
});

test('works that are short share a turn', async (t) => {
  // The turn that the works before have begun ends first.
  await new Promise((resolve) => setTimeout(resolve, 5));
  let now = performance.now();
  t.mock.method(performance, 'now', () => now);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const done: number[] = [];
  function* long(): Steps {
    now += LONG_MS;
    yield;
  }
  function* short(index: number): Steps {
    done.push(index);
    yield;
  }
  const ended = [inTurns(long(), 'the work')];
  for (let index = 0; index < 20; index++) ended.push(inTurns(short(index), 'the work'));
  assert.deepEqual(done, []);
  t.mock.timers.tick(1);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(done.length, 20);
  t.mock.timers.tick(1);
  await Promise.all(ended);
});
