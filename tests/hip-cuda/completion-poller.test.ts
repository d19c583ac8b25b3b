import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CompletionPoller, type Pollable } from '../../src/devices/hip-cuda/streams/completion-poller.ts';

/** A poller whose turns the test runs, and points of streams on it that complete when the test says so. */
function polled() {
  let turn: (() => void) | undefined;
  const take = (next: () => void) => {
    turn = next;
  };
  const poller = new CompletionPoller({ soon: take, later: take }, () => 0);
  const asked: string[] = [];
  const point = (name: string, stream: number, onDone = () => {}): Pollable & { isDone: boolean } => {
    const object = {
      stream,
      place: poller.place(),
      isDone: false,
      poll: () => {
        asked.push(name);
        if (object.isDone) onDone();
        return object.isDone;
      },
    };
    return object;
  };
  const runTurn = () => {
    const next = turn;
    turn = undefined;
    asked.length = 0;
    next?.();
    return { asked: asked.join(' '), goesOn: turn !== undefined };
  };
  return { poller, point, runTurn };
}

test('of each stream, the first point that is not complete is asked', () => {
  const { poller, point, runTurn } = polled();
  const [a, b, c] = [point('a', 1), point('b', 1), point('c', 1)];
  const d = point('d', 2);
  for (const object of [a, b, c, d]) poller.watch(object);
  assert.deepEqual(runTurn(), { asked: 'a d', goesOn: true });
  a.isDone = b.isDone = true;
  assert.deepEqual(runTurn(), { asked: 'a b c d', goesOn: true });
  d.isDone = true;
  assert.deepEqual(runTurn(), { asked: 'c d', goesOn: true });
  c.isDone = true;
  assert.deepEqual(runTurn(), { asked: 'c', goesOn: false });
});

test('a point that is watched late is asked before those behind it', () => {
  const { poller, point, runTurn } = polled();
  const [early, late] = [point('early', 1), point('late', 1)];
  poller.watch(late);
  poller.watch(early);
  assert.deepEqual(runTurn(), { asked: 'early', goesOn: true });
  early.isDone = late.isDone = true;
  assert.deepEqual(runTurn(), { asked: 'early late', goesOn: false });
});

test('what a listener watches is asked from the next turn on', () => {
  const { poller, point, runTurn } = polled();
  const before = point('before', 1);
  const first = point('first', 1, () => poller.watch(before));
  const second = point('second', 2);
  poller.watch(first);
  poller.watch(second);
  first.isDone = true;
  assert.deepEqual(runTurn(), { asked: 'first second', goesOn: true });
  before.isDone = second.isDone = true;
  assert.deepEqual(runTurn(), { asked: 'before second', goesOn: false });
});
