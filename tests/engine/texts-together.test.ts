import assert from 'node:assert/strict';
import { test } from 'node:test';
import { familyPaths } from '../support/family-fixtures.ts';
import { onOneCpu } from '../support/one-cpu.ts';

const open = onOneCpu();
const pathOf = (name: string) => familyPaths({ name, sizes: {} }).model;

/** Texts of these lengths, of which none begins like another. */
function textsOf(lengths: readonly number[]): number[][] {
  return lengths.map((length, text) => Array.from({ length }, (_, i) => 3 + ((7 * text + 5 * i) % 40)));
}

const MODELS = [
  // An encoder's steps hold whole texts, a decoder's slices of them.
  { name: 'bert', options: { sequences: 4, context: 32 }, mostSteps: 5 },
  { name: 'gemma-embedding', options: { sequences: 4, context: 32 }, mostSteps: 5 },
  { name: 'qwen3', options: { sequences: 4, context: 64, batch: 16, pooling: 'last' }, mostSteps: 9 },
] as const;

for (const { name, options, mostSteps } of MODELS) {
  test(`${name}: texts that wait together are computed together, each as if it were alone`, async () => {
    await using model = await open(pathOf(name), options);
    const texts = textsOf([3, 30, 5, 2, 7, 1, 11, 4]);
    const alone = [];
    for (const ids of texts) alone.push(await model.embed(ids));
    const before = model.counters.steps;
    const together = await Promise.all(texts.map((ids) => model.embed(ids)));
    const steps = model.counters.steps - before;
    assert.deepEqual(together, alone);
    assert.ok(steps <= mostSteps, `${steps} steps`);
    const rows = await Promise.all(texts.map((ids) => model.embedTokens(ids)));
    for (const [i, { vectors }] of rows.entries()) assert.equal(vectors.length, texts[i]?.length);
  });
}

test('a smaller cache than all slots have computes fewer texts together', async () => {
  const options = { sequences: 4, context: 64, cachePositions: 64, batch: 16, pooling: 'last' } as const;
  await using model = await open(pathOf('qwen3'), options);
  const texts = textsOf([60, 3, 61, 2, 40, 33]);
  const together = await Promise.all(texts.map((ids) => model.embed(ids)));
  for (const [i, ids] of texts.entries()) assert.deepEqual(await model.embed(ids), together[i]);
});

test('a text that is aborted, refused or left leaves the others as they are', async () => {
  await using model = await open(pathOf('bert'), { sequences: 4, context: 32 });
  const texts = textsOf([4, 9, 2, 8, 30, 6]);
  const whole = await Promise.all(texts.map((ids) => model.embed(ids)));
  const leaving = new AbortController();
  const made = texts.map((ids, i) => model.embed(ids, i % 2 ? { signal: leaving.signal } : {}));
  const refused = model.embed(new Array<number>(33).fill(5));
  leaving.abort();
  const [, ...ended] = await Promise.all([
    assert.rejects(refused, { code: 'CONTEXT_OVERFLOW' }),
    ...made.map((one, i) => (i % 2 ? assert.rejects(one, { code: 'ABORTED' }) : one)),
  ]);
  for (const [i, vector] of ended.entries()) if (i % 2 === 0) assert.deepEqual(vector, whole[i]);
});

test('texts that wait when their model is disposed are refused', async () => {
  const model = await open(pathOf('bert'), { sequences: 2, context: 32 });
  const waiting = textsOf([4, 9, 2, 8]).map((ids) => model.embed(ids));
  const refused = Promise.all(waiting.map((one) => assert.rejects(one, { code: 'DISPOSED' })));
  await model.dispose();
  await refused;
});
