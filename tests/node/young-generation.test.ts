import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitYoungGeneration, youngGeneration } from '../../src/node/young-generation.ts';

/** Objects that live for a while, so that V8 makes more room for young ones; with turns of the event loop between. */
async function live(objects: number): Promise<number> {
  const kept: unknown[] = [];
  for (let i = 0; i < objects; i++) {
    kept[i % 100_000] = { i, of: [i] };
    if (i % 2_000 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return kept.length;
}

test('the young generation of a thread that runs grows no further than it should', async () => {
  limitYoungGeneration();
  await live(1_500_000);
  const bytes = youngGeneration();
  assert.ok(bytes >= 8e6 && bytes < 10e6, `${bytes} bytes`);
});
