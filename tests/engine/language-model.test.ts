import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { openNullDevice } from '../../src/devices/null/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import type { GgufPlan } from '../../src/gguf/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { TINY, tinyModel } from '../support/tiny-model.ts';

async function open(options: ModelOptions = {}, changed: GgufPlan['metadata'] = []): Promise<LanguageModel> {
  const gguf = await tinyModel('F32', changed);
  return LanguageModel.open(
    { gguf, device: openReferenceDevice(), architectures: ALL_ARCHITECTURES },
    options,
  );
}

function rejects(work: Promise<unknown>, code: Parameters<typeof isRocmforgeError>[1]): Promise<void> {
  return assert.rejects(work, (error) => isRocmforgeError(error, code));
}

async function logitsOf(model: LanguageModel, ids: readonly number[]): Promise<Float32Array[]> {
  const all: Float32Array[] = [];
  for await (const { logits } of model.evaluate(ids)) all.push(logits.slice());
  return all;
}

const PROMPT = Array.from({ length: 40 }, (_, i) => 3 + ((i * 37) % 256));

test('logits do not depend on how a prompt is sliced', async () => {
  await using whole = await open({ batch: 64, logitRows: 64 });
  await using sliced = await open({ batch: 7, logitRows: 3 });
  const expected = await logitsOf(whole, PROMPT);
  assert.equal(expected.length, PROMPT.length);
  assert.deepEqual(await logitsOf(sliced, PROMPT), expected);
});

test('evaluate gives only the positions from `from` on, with the same logits', async () => {
  await using model = await open({ batch: 8, logitRows: 4 });
  const expected = await logitsOf(model, PROMPT);
  let position = 33;
  for await (const found of model.evaluate(PROMPT, position)) {
    assert.equal(found.position, position);
    assert.deepEqual(found.logits, expected[position++]);
  }
  assert.equal(position, PROMPT.length);
});

test('greedy generation takes the most likely token of every position', async () => {
  await using model = await open({ batch: 16, logitRows: 1 });
  const ids = [...PROMPT];
  const stream = model.generate(PROMPT, { temperature: 0, maxTokens: 12, ignoreEnd: true, special: true });
  for await (const { token } of stream) if (token) ids.push(token.id);
  assert.equal(ids.length, PROMPT.length + 12);
  const logits = await logitsOf(model, ids);
  for (let at = PROMPT.length; at < ids.length; at++) {
    const before = logits[at - 1] as Float32Array;
    assert.equal(ids[at], before.indexOf(Math.max(...before)));
  }
  assert.equal(stream.end.reason, 'length');
  assert.equal(stream.end.generatedTokens, 12);
});

test('a second call reuses what the first left in the cache, with the same answer', async () => {
  await using model = await open();
  await using fresh = await open();
  const options = { temperature: 0, maxTokens: 6, ignoreEnd: true };
  await model.generate(PROMPT, options).text();
  const longer = [...PROMPT, 50, 60, 70];
  const warm = model.generate(longer, options);
  const cold = fresh.generate(longer, options);
  assert.equal(await warm.text(), await cold.text());
  assert.equal(warm.end.cachedTokens, PROMPT.length);
  assert.equal(cold.end.cachedTokens, 0);
});

test('the same seed gives the same text, another seed another', async () => {
  await using model = await open();
  const text = (seed: number) =>
    model
      .generate('hi', { seed, maxTokens: 24, temperature: 1, topK: 0, topP: 1, minP: 0, ignoreEnd: true })
      .text();
  assert.equal(await text(5), await text(5));
  assert.notEqual(await text(5), await text(6));
});

test('log-probabilities are those of the logits', async () => {
  await using model = await open();
  const stream = model.generate(PROMPT, {
    temperature: 0,
    maxTokens: 1,
    logProbabilities: 5,
    ignoreEnd: true,
  });
  const tokens = [];
  for await (const { token } of stream) if (token) tokens.push(token);
  const [first] = tokens;
  const logits = (await logitsOf(model, PROMPT)).at(-1) as Float32Array;
  const total = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0));
  assert.equal(first?.alternatives.length, 5);
  assert.equal(first?.alternatives[0]?.id, first?.id);
  for (const { id, logProbability } of first?.alternatives ?? []) {
    assert.ok(Math.abs(logProbability - ((logits[id] as number) - total)) < 1e-5);
  }
  assert.equal(first?.logProbability, first?.alternatives[0]?.logProbability);
});

test('a logit bias forces and forbids tokens', async () => {
  await using model = await open();
  const options = { temperature: 0, maxTokens: 3, ignoreEnd: true } as const;
  assert.equal(
    await model.generate(PROMPT, { ...options, logitBias: new Map([[3 + 65, 1e4]]) }).text(),
    'AAA',
  );
  const plain = await model.generate(PROMPT, options).text();
  const ids: number[] = [];
  for await (const { token } of model.generate(PROMPT, { ...options, maxTokens: 1 }))
    if (token) ids.push(token.id);
  const forbidden = new Map([[ids[0] as number, -Infinity]]);
  assert.notEqual(await model.generate(PROMPT, { ...options, logitBias: forbidden }).text(), plain);
});

test('stop strings end the text and are not given out', async () => {
  await using model = await open();
  const bias = new Map([[3 + 66, 1e4]]);
  const stream = model.generate('hi', { temperature: 0, logitBias: bias, stop: ['BBB'], maxTokens: 50 });
  assert.equal(await stream.text(), '');
  assert.equal(stream.end.reason, 'stop');
  assert.equal(stream.end.stop, 'BBB');
  assert.equal(stream.end.generatedTokens, 3);
});

test('the context ends a generation; a prompt beyond it is refused', async () => {
  await using model = await open({ context: 48 });
  const stream = model.generate(PROMPT, { temperature: 0, ignoreEnd: true });
  await stream.text();
  assert.equal(stream.end.reason, 'length');
  assert.equal(PROMPT.length + stream.end.generatedTokens, 49);
  await rejects(model.generate([...PROMPT, ...PROMPT]).text(), 'CONTEXT_OVERFLOW');
});

test('bad prompts and options are refused with typed errors', async () => {
  await using model = await open();
  await rejects(model.generate([]).text(), 'PROMPT_EMPTY');
  await rejects(model.generate([TINY.vocabulary]).text(), 'TOKEN_OUT_OF_RANGE');
  await rejects(model.generate([-1]).text(), 'TOKEN_OUT_OF_RANGE');
  await rejects(model.generate([1.5]).text(), 'TOKEN_OUT_OF_RANGE');
  assert.throws(
    () => model.generate('hi', { topP: 2 }),
    (error) => isRocmforgeError(error, 'INVALID_ARGUMENT'),
  );
  assert.throws(
    () => model.generate('hi', { logProbabilities: 21 }),
    (error) => isRocmforgeError(error, 'INVALID_ARGUMENT'),
  );
  for (const limit of [Number.NaN, -1, 2.5]) {
    await rejects(model.generate('hi', { maxTokens: limit }).text(), 'INVALID_ARGUMENT');
    await rejects(model.generate('hi', { speculation: limit }).text(), 'INVALID_ARGUMENT');
  }
  assert.equal(await model.generate('hi', { maxTokens: 0 }).text(), '');
  await rejects(open({ context: 0 }), 'INVALID_ARGUMENT');
});

test('an abort ends a generation between tokens and leaves the model usable', async () => {
  await using model = await open();
  const controller = new AbortController();
  const stream = model.generate('hi', { signal: controller.signal, ignoreEnd: true });
  const read = async () => {
    let chunks = 0;
    for await (const _ of stream) if (++chunks === 3) controller.abort();
  };
  await rejects(read(), 'ABORTED');
  assert.equal(typeof (await model.generate('hi', { maxTokens: 2 }).text()), 'string');
});

test('leaving the iteration early frees the model for the next call', async () => {
  await using model = await open();
  for await (const { token } of model.generate('hi', { ignoreEnd: true })) if (token) break;
  const both = [
    model.generate('hi', { maxTokens: 4, seed: 1 }),
    model.generate('hi', { maxTokens: 4, seed: 1 }),
  ];
  const [first, second] = await Promise.all(both.map((stream) => stream.text()));
  assert.equal(first, second);
});

test('opening fails before anything is allocated when memory is short, and releases everything', async () => {
  const gguf = await tinyModel();
  const device = openNullDevice({ memoryBytes: 100_000 });
  await rejects(LanguageModel.open({ gguf, device, architectures: ALL_ARCHITECTURES }), 'MODEL_TOO_LARGE');
  assert.equal(device.liveObjects(), 0);
});

test('an unknown architecture names the known ones', async () => {
  const changed = [['general.architecture', { type: 'string', value: 'parrot' }]] as const;
  await assert.rejects(open({}, changed), /parrot; known: .*, llama, /);
});

test('disposal leaves nothing alive and later use is a typed error', async () => {
  const model = await open();
  const { device } = model;
  await model.generate('hi', { maxTokens: 2 }).text();
  assert.ok(device.liveObjects() > 0);
  await model.dispose();
  await model.dispose();
  assert.equal(device.liveObjects(), 0);
  assert.throws(
    () => model.generate([1]),
    (error) => isRocmforgeError(error, 'DISPOSED'),
  );
});
