import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import type { GenerateOptions } from '../../src/engine/generate-options.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { idsOf } from '../support/ids-of.ts';
import { tinyModel } from '../support/tiny-model.ts';

const CONTEXT = 48;
const KEEP = 5;
const PROMPT = Array.from({ length: 20 }, (_, i) => 3 + ((i * 37) % 256));
const GREEDY = { temperature: 0, ignoreEnd: true } as const;

async function open(options: ModelOptions = {}): Promise<LanguageModel> {
  const parts = { gguf: await tinyModel(), device: openReferenceDevice(), architectures: ALL_ARCHITECTURES };
  return LanguageModel.open(parts, { context: CONTEXT, ...options });
}

/** The same by hand: a prompt of what stays, each time the context is full. */
async function byHand(count: number): Promise<number[]> {
  await using model = await open();
  const all: number[] = [];
  let ids = [...PROMPT];
  while (all.length < count) {
    const said = await idsOf(model, ids, { ...GREEDY, maxTokens: count - all.length });
    all.push(...said);
    ids = [...ids, ...said];
    ids.splice(KEEP, (ids.length - KEEP) >> 1);
  }
  return all;
}

const COUNT = 130;
const expected = byHand(COUNT);

for (const [name, options] of Object.entries({
  'one after the other': {},
  'three steps under way': { inFlight: 3, sequences: 2 },
  'with a small cache': { sequences: 3, cachePositions: 64 },
  'with draft tokens': { sequences: 2, speculation: 3, minDraftTokens: 1 },
} satisfies Record<string, ModelOptions>)) {
  test(`a full context makes room and goes on, ${name}`, async () => {
    await using model = await open(options);
    const shift = { keep: KEEP };
    const long = { ...GREEDY, maxTokens: COUNT, shift };
    const others = [30, 7].map((maxTokens) => idsOf(model, PROMPT.slice(3), { ...GREEDY, maxTokens }));
    const stream = model.generate(PROMPT, long);
    const ids: number[] = [];
    for await (const { token } of stream) if (token) ids.push(token.id);
    assert.deepEqual(ids, await expected);
    const { reason, promptTokens, generatedTokens } = stream.end;
    assert.deepEqual([reason, promptTokens, generatedTokens], ['length', PROMPT.length, COUNT]);
    assert.deepEqual(
      (await Promise.all(others)).map(({ length }) => length),
      [30, 7],
    );
  });
}

test('draws of positions that come again are not the same, and repeat with the seed', async () => {
  await using model = await open();
  const drawn = { temperature: 5, topK: 0, topP: 1, minP: 0, seed: 3, ignoreEnd: true } as const;
  const options = { ...drawn, maxTokens: COUNT, shift: { keep: 0 } };
  const [first, second] = [await idsOf(model, [7], options), await idsOf(model, [7], options)];
  assert.deepEqual(first, second);
  const later = first.slice(CONTEXT, CONTEXT + 20).join();
  assert.ok(!first.slice(0, CONTEXT).join().includes(later));
});

test('a constraint holds when the context makes room, whatever was dropped', async () => {
  await using model = await open();
  const sentence = '(ab){10}(cd){20}(ef){30}';
  const stream = model.generate(PROMPT, {
    ...GREEDY,
    ignoreEnd: false,
    regex: sentence,
    shift: { keep: KEEP },
  });
  assert.equal(await stream.text(), 'ab'.repeat(10) + 'cd'.repeat(20) + 'ef'.repeat(30));
  assert.ok(stream.end.generatedTokens > CONTEXT);
});

test('more than half of the context cannot be kept', async () => {
  await using model = await open();
  for (const keep of [-1, 0.5, CONTEXT / 2 + 1]) {
    const stream = model.generate(PROMPT, { ...GREEDY, shift: { keep } });
    await assert.rejects(stream.text(), { code: 'INVALID_ARGUMENT' });
  }
  assert.equal((await idsOf(model, PROMPT, { ...GREEDY, maxTokens: 60, shift: { keep: 24 } })).length, 60);
});

test('who makes room goes on before those that wait for a place', async () => {
  await using model = await open({ sequences: 1 });
  const heard: string[] = [];
  const say = async (name: string, options: GenerateOptions) => {
    for await (const { token } of model.generate(PROMPT, { ...GREEDY, ...options }))
      if (token) heard.push(name);
  };
  const shift = { keep: KEEP };
  await Promise.all([say('long', { maxTokens: 80, shift }), say('waits', { maxTokens: 3 })]);
  assert.equal(heard.lastIndexOf('long') < heard.indexOf('waits'), true, heard.join(' '));
});
