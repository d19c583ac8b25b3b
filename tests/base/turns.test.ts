import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { inTurns, type Steps } from '../../src/base/turns.ts';

test('work whose caller has gone does not begin, nor go on after a wait', async () => {
  const controller = new AbortController();
  let steps = 0;
  function* endless(): Steps {
    for (; ; steps++) yield;
  }
  const isAborted = (error: unknown) => isRocmforgeError(error, 'ABORTED');
  const running = inTurns(endless(), 'counting', controller.signal);
  const first = steps;
  assert.ok(first > 0, 'a turn is had at once');
  controller.abort();
  await assert.rejects(running, isAborted);
  assert.equal(steps, first, 'the wait was the last thing');
  await assert.rejects(inTurns(endless(), 'counting', controller.signal), isAborted);
  assert.equal(steps, first);
});
