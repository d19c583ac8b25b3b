import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { LAUNCH_SUMMARY } from '../support/fixture.ts';
import { launchSummary } from '../support/launch-lists.ts';

test('GPUs launch what they did for every family: `node dist/bench/launch-lists.js golden` takes a change in', async () => {
  const known = readFileSync(LAUNCH_SUMMARY, 'utf8').trimEnd().split('\n');
  assert.deepEqual(await launchSummary(), known);
});
