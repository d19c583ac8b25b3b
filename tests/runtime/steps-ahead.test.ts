import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { likelySteps } from '../../src/runtime/steps-ahead.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { tinyModel } from '../support/tiny-model.ts';
import { withCapacities } from '../support/with-capacities.ts';
import { until } from '../support/hung.ts';

const CAPACITIES = [1, 2, 8];

async function open(options: ModelOptions): Promise<LanguageModel> {
  const device = withCapacities(openReferenceDevice(), CAPACITIES);
  const parts = { gguf: await tinyModel(), device, architectures: ALL_ARCHITECTURES };
  return LanguageModel.open(parts, { load: 'eager', sequences: 2, batch: 16, context: 64, ...options });
}

/** Resolves when as many steps were recorded ahead. Rejects when they never are. */
function recorded(model: LanguageModel, count: number): Promise<void> {
  return until(
    () => `${model.counters.preparedAhead} of ${count} steps were recorded ahead`,
    () => model.counters.preparedAhead >= count,
  );
}

/** Prompts of several lengths, one after the other. */
async function run(model: LanguageModel, lengths: readonly number[], maxTokens = 3): Promise<void> {
  for (const length of lengths) {
    model.reset();
    const prompt = Array.from({ length }, (_, i) => 3 + i);
    await model.generate(prompt, { maxTokens, ignoreEnd: true, temperature: 0 }).text();
  }
}

test('what may follow an idle engine, the likeliest first', () => {
  const all = likelySteps([1, 8, 64], 512, 'generate');
  assert.deepEqual(
    all.map(({ rows, kind }) => `${kind} ${rows}`),
    ['generate 64', 'generate 1', 'generate 8', 'forward 64'],
  );
  assert.equal(likelySteps([1, 64], 64, 'generate').length, 2, 'no prompt takes more than a step');
  assert.deepEqual(
    likelySteps([64], 512, 'forward').map(({ kind }) => kind),
    ['forward'],
  );
});

test('an idle engine records what may come: nobody waits for it then, and nothing is left alive', async () => {
  const model = await open({});
  await recorded(model, CAPACITIES.length + 2);
  await run(model, [1, 2, 7, 16, 40]);
  const { preparedAhead, preparedAheadUsed, preparedMisses, preparedHits, steps } = model.counters;
  assert.deepEqual([preparedMisses, preparedHits], [0, steps]);
  assert.deepEqual([preparedAhead, preparedAheadUsed], [5, 5]);
  await model.dispose();
  assert.equal(model.device.liveObjects(), 0);
});

test('steps recorded ahead take what room is left, and give way to what is wanted', async () => {
  const model = await open({ preparedSteps: 2 });
  const before = model.device.liveObjects();
  await recorded(model, 2);
  assert.equal(model.device.liveObjects() - before, 2);
  // The likelier of them, a step full of a prompt, is still there when the other has given way to a prompt of 2.
  await run(model, [2, 16], 1);
  const { preparedAhead, preparedAheadUsed, preparedMisses } = model.counters;
  assert.deepEqual([preparedAhead, preparedAheadUsed, preparedMisses], [2, 1, 1]);
  assert.equal(model.device.liveObjects() - before, 2);
  await model.dispose();
  assert.equal(model.device.liveObjects(), 0);
});

test('without it, or where no step is kept, each is recorded at its first use', async () => {
  for (const options of [{ runtime: { recordsAhead: false } }, { preparedSteps: 0 }]) {
    await using model = await open(options);
    await run(model, [1, 7]);
    // Longer than it rests.
    await new Promise((resolve) => setTimeout(resolve, 60));
    await run(model, [1, 7]);
    assert.equal(model.counters.preparedAhead, 0);
    assert.ok(model.counters.preparedMisses >= 2);
  }
});

test('disposal while it records leaves nothing alive', async () => {
  for (let turns = 0; turns < 6; turns++) {
    const model = await open({});
    await recorded(model, turns);
    await model.dispose();
    assert.equal(model.device.liveObjects(), 0);
  }
});
