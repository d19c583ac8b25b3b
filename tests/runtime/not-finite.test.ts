import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { Device } from '../../src/device/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { GgufFile } from '../../src/gguf/index.ts';
import { MemorySource } from '../../src/io/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { loadModel } from '../../src/index.ts';
import { fixture } from '../support/fixture.ts';
import { idsOf } from '../support/ids-of.ts';
import { tinyBytes, withNaN } from '../support/tiny-model.ts';

/** The id whose embedding is no number. */
const BROKEN = 200;
const FIRST = 5;
const PROMPT = [FIRST, 9, 17, 33];
const GREEDY = { temperature: 0, maxTokens: 6, ignoreEnd: true };

async function open(tensor: string, at: number, options: ModelOptions = {}, device?: Device) {
  const gguf = await GgufFile.open(
    new MemorySource(await withNaN(await tinyBytes('F32', [], { hasHead: true }), tensor, at), 'broken.gguf'),
  );
  return LanguageModel.open(
    { gguf, device: device ?? openReferenceDevice(), architectures: ALL_ARCHITECTURES },
    options,
  );
}

/** A model whose embedding of one id is no number. */
const openBrokenId = (options: ModelOptions) => open('token_embd.weight', 64 * BROKEN + 3, options);

function rejectsNaming(work: Promise<unknown>, where: RegExp, position: number): Promise<void> {
  return assert.rejects(work, (error) => {
    assert.ok(isRocmforgeError(error, 'LOGITS_NOT_FINITE'), String(error));
    assert.match(error.params.where, where);
    assert.equal(error.params.position, position);
    return true;
  });
}

const VARIANTS: Readonly<Record<string, ModelOptions>> = {
  'steps queued ahead': { inFlight: 3 },
  'on the host': { runtime: { sampling: 'host' } },
  'in slices': { batch: 3 },
};

for (const [name, options] of Object.entries(VARIANTS)) {
  test(`logits that are no numbers end a text with an error that names the layer: ${name}`, async () => {
    await using model = await open('blk.1.ffn_norm.weight', 5, options);
    await rejectsNaming(model.generate(PROMPT, GREEDY).text(), /^layer 1$/, 3);
    await rejectsNaming(model.generate(PROMPT, { ...GREEDY, logProbabilities: 2 }).text(), /^layer 1$/, 3);
    await rejectsNaming(model.generate(PROMPT, { maxTokens: 3, seed: 1 }).text(), /^layer 1$/, 3);
  });
}

test('the parts are named: embedding, layers and head, on the CPU device too', async () => {
  for (const [tensor, at, where] of [
    ['blk.2.attn_v.weight', 7, /^layer 2$/],
    ['output_norm.weight', 0, /^head$/],
    ['token_embd.weight', 64 * FIRST + 1, /^embedding$/],
  ] as const) {
    const device = await openCpu({ threads: 1, memoryLimit: 2 ** 30 });
    await using model = await open(tensor, at, {}, device);
    await rejectsNaming(model.generate(PROMPT, GREEDY).text(), where, 3);
  }
});

test('the others of a batch go on as if nothing had happened', async () => {
  await using model = await openBrokenId({ sequences: 4, inFlight: 3 });
  const prompts = [PROMPT, [7, 8], [3, 9, 12, 40, 41]];
  const expected: number[][] = [];
  for (const prompt of prompts) expected.push(await idsOf(model, prompt, GREEDY));
  model.reset();
  const broken = () => model.generate([5, BROKEN, 9], GREEDY).text();
  const failing = rejectsNaming(broken(), /^embedding$/, 2);
  const all = await Promise.all(prompts.map((prompt) => idsOf(model, prompt, GREEDY)));
  await failing;
  assert.deepEqual(all, expected);
  await rejectsNaming(broken(), /^embedding$/, 2);
  assert.deepEqual(await idsOf(model, PROMPT, GREEDY), expected[0], 'and nothing stays behind');
});

test('evaluating and embedding reject, and give no number', async () => {
  await using model = await openBrokenId({ batch: 3 });
  const ids = [5, 7, 9, 11, BROKEN, 13];
  const positions: number[] = [];
  const evaluate = async () => {
    for await (const { position } of model.evaluate(ids)) positions.push(position);
  };
  await rejectsNaming(evaluate(), /^embedding$/, 4);
  assert.deepEqual(positions, [0, 1, 2, 3]);
  const bert = new Uint8Array(readFileSync(fixture('families/bert.gguf')));
  const brokenBert = await withNaN(bert, 'blk.1.layer_output_norm.bias', 2);
  const gguf = await GgufFile.open(new MemorySource(brokenBert, 'bert.gguf'));
  const device = openReferenceDevice();
  await using encoder = await LanguageModel.open({ gguf, device, architectures: ALL_ARCHITECTURES });
  await rejectsNaming(encoder.embed([3, 5, 7]), /^layer 1$/, 0);
  await using sound = await loadModel(fixture('families/bert.gguf'), { device: 'cpu' });
  assert.ok((await sound.embed([3, 5, 7])).vector.every(Number.isFinite));
});

test('a recurrent state that is no number is not saved', async () => {
  const rwkv = new Uint8Array(readFileSync(fixture('families/rwkv7.gguf')));
  const broken = await withNaN(rwkv, 'blk.1.time_mix_k_k.weight', 2);
  const gguf = await GgufFile.open(new MemorySource(broken, 'rwkv7.gguf'));
  const parts = { gguf, device: openReferenceDevice(), architectures: ALL_ARCHITECTURES };
  await using model = await LanguageModel.open(parts);
  await rejectsNaming(model.saveState([3, 5, 7]), /^layer 1$/, 2);
  await rejectsNaming(model.generate([3, 5, 7], GREEDY).text(), /^layer 1$/, 2);
});

test('a bias that forbids every token is an error of the request', async () => {
  await using model = await loadModel(fixture('families/llama.gguf'), { device: 'cpu' });
  const logitBias = new Map(Array.from({ length: model.vocabulary }, (_, id) => [id, -Infinity] as const));
  const work = model.generate([3, 5], { ...GREEDY, logitBias }).text();
  await assert.rejects(work, (error) => isRocmforgeError(error, 'TOKENS_FORBIDDEN'));
});
