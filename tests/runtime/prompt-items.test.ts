import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import type { GgufFile } from '../../src/gguf/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { type PromptItem, promptIds } from '../../src/runtime/prompt-items.ts';
import { TINY, tinyModel } from '../support/tiny-model.ts';

const IDS = Array.from({ length: 50 }, (_, i) => 3 + ((13 * i) % 250));

async function open(options: ModelOptions = {}): Promise<LanguageModel> {
  const gguf = await tinyModel('F32', [], { hasHead: true });
  const device = await openCpu({ threads: 2 });
  const parts = { gguf, device, architectures: ALL_ARCHITECTURES };
  return LanguageModel.open(parts, { context: 128, embedding: 'host', ...options });
}

/** The embeddings of tokens, as the file has them. */
async function embeddingsOf(gguf: GgufFile, ids: readonly number[]): Promise<Float32Array[]> {
  const table = gguf.tensors.find(({ name }) => name === 'token_embd.weight');
  assert.ok(table);
  const bytes = new Uint8Array(table.byteLength);
  await table.source.read(table.offset, bytes);
  return ids.map((id) => new Float32Array(bytes.buffer, 4 * TINY.width * id, TINY.width));
}

async function said(model: LanguageModel, prompt: readonly PromptItem[], more: object = {}) {
  const stream = model.generate(prompt, {
    maxTokens: 16,
    temperature: 0.8,
    seed: 3,
    ignoreEnd: true,
    ...more,
  });
  const ids: number[] = [];
  for await (const { token } of stream) if (token) ids.push(token.id);
  return { ids, cached: stream.end.cachedTokens };
}

test('vectors in the place of the embeddings of tokens are continued as the tokens are', async () => {
  await using model = await open({ sequences: 3, batch: 16 });
  const vectors = await embeddingsOf(model.gguf, IDS);
  const mixed = IDS.map((id, i) => (i > 10 && i < 40 ? (vectors[i] as Float32Array) : id));
  const tokens = await said(model, IDS);
  model.reset();
  const together = await Promise.all([said(model, vectors), said(model, mixed), said(model, IDS)]);
  for (const { ids } of together) assert.deepEqual(ids, tokens.ids);
  // Vectors are no tokens that a penalty could know, and no more than that.
  const penalty = { repeatPenalty: 1.3, penaltyWindow: -1 };
  assert.equal((await said(model, vectors, penalty)).ids.length, 16);
});

test('what begins with the same vectors is gone on from, what begins with others is not', async () => {
  await using model = await open();
  const vectors = await embeddingsOf(model.gguf, IDS);
  const first = await said(model, vectors);
  const copies = vectors.map((vector) => vector.slice());
  const again = await said(model, copies);
  assert.deepEqual(again.ids, first.ids);
  assert.equal(again.cached, IDS.length - 1);
  (copies[20] as Float32Array)[5] = 0.25;
  const other = await said(model, copies);
  assert.equal(other.cached, 20);
  model.reset();
  assert.deepEqual((await said(model, copies)).ids, other.ids);
});

test('guesses and full contexts do not lose vectors', async () => {
  await using model = await open({ context: 64, speculation: 4 });
  const vectors = await embeddingsOf(model.gguf, IDS);
  const shift = { keep: 4 };
  const expected = await said(model, IDS, { maxTokens: 40, shift, speculation: 0 });
  model.reset();
  assert.deepEqual((await said(model, vectors, { maxTokens: 40, shift })).ids, expected.ids);
});

test('vectors of another width, of no numbers, or for a model whose embedding is on the device are refused', async () => {
  await using model = await open();
  const refused = (prompt: readonly PromptItem[]) =>
    assert.rejects(said(model, prompt), { code: 'INVALID_ARGUMENT' });
  await refused([1, new Float32Array(TINY.width - 1)]);
  await refused([1, new Float32Array(TINY.width).fill(Number.NaN)]);
  await assert.rejects(said(model, [1, -5]), { code: 'TOKEN_OUT_OF_RANGE' });
  const parts = { gguf: await tinyModel(), device: openReferenceDevice(), architectures: ALL_ARCHITECTURES };
  await using onDevice = await LanguageModel.open(parts, { context: 32 });
  await assert.rejects(said(onDevice, [1, new Float32Array(TINY.width)]), /embedding: 'host'/);
});

test('equal vectors have equal numbers, others have others', () => {
  const numbers = Array.from({ length: 2000 }, (_, i) => {
    const { ids } = promptIds([
      Float32Array.of(i, 1, 2),
      Float32Array.of(i, 1, 2),
      Float32Array.of(1, i, 2.5),
    ]);
    assert.equal(ids[0], ids[1]);
    assert.ok(ids.every((id) => Number.isSafeInteger(id) && id < 0));
    return ids;
  });
  assert.equal(new Set(numbers.flat()).size, 2 * 2000);
});
