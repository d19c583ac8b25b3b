import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LanguageModel, loadModel } from '../../src/index.ts';
import { loadModelInWorker } from '../../src/node/load-model-in-worker.ts';
import { familyPaths } from '../support/family-fixtures.ts';
import { onOneCpu } from '../support/one-cpu.ts';

const open = onOneCpu();
const pathOf = (name: string) => familyPaths({ name, sizes: {} }).model;
const IDS = [7, 25, 53, 30, 17, 14, 21, 38];

/** The largest difference of two vectors. */
function difference(a: Float32Array, b: Float32Array): number {
  assert.equal(a.length, b.length);
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - (b[i] ?? 9))), 0);
}

test('documents are ordered by the score of their pair with the query', async () => {
  const documents = ['$%&', '', '"#$ %', "'''"];
  for (const name of ['bert-reranker', 'qwen3-reranker']) {
    await using model = await open(pathOf(name), { cacheType: 'f32' });
    const { results, tokens, isProbability } = await model.rerank('#$', documents);
    const scores = new Map(results.map(({ index, score }) => [index, score]));
    assert.deepEqual([...scores.keys()].sort(), [0, 1, 2, 3]);
    assert.deepEqual(
      [...scores.values()],
      [...scores.values()].sort((a, b) => b - a),
    );
    let counted = 0;
    for (const [index, document] of documents.entries()) {
      // These vocabularies add no tokens, so the pair is both texts.
      const encode = (text: string) => model.tokenizer.encode(text, { addSpecial: false });
      const made = await model.classify([...encode('#$'), ...encode(document)]);
      assert.equal(made.scores[0], scores.get(index));
      assert.equal(made.isProbability, isProbability);
      counted += made.tokens;
    }
    assert.equal(tokens, counted);
    assert.equal(new Set(scores.values()).size, 4);
    const best = await model.rerank('#$', documents, { top: 1 });
    assert.deepEqual(best.results, results.slice(0, 1));
  }
});

test('Qwen3-Reranker has probabilities of its labels; models without a classifier refuse', async () => {
  await using ranker = await open(pathOf('qwen3-reranker'), {});
  const { labels, scores, isProbability } = await ranker.classify(IDS);
  assert.deepEqual(labels, ['yes', 'no']);
  assert.ok(isProbability);
  assert.ok(Math.abs((scores[0] ?? 0) + (scores[1] ?? 0) - 1) < 1e-6);
  await assert.rejects(ranker.embed(IDS), { code: 'EMBEDDINGS_UNSUPPORTED' });
  await assert.rejects(ranker.embed(IDS, { pooling: 'last' }), { code: 'EMBEDDINGS_UNSUPPORTED' });
  for (const name of ['bert', 'llama']) {
    await using model = await open(pathOf(name), {});
    await assert.rejects(model.classify(IDS), { code: 'RANKING_UNSUPPORTED' });
    await assert.rejects(model.rerank('a', ['b']), { code: 'RANKING_UNSUPPORTED' });
  }
  await assert.rejects(open(pathOf('llama'), { pooling: 'rank' }), { code: 'MODEL_CONFIG' });
  await assert.rejects(open(pathOf('bert'), { pooling: 'rank' }), { code: 'MODEL_TENSOR_MISSING' });
  await assert.rejects(open(pathOf('rwkv7'), { pooling: 'mean' }), { code: 'INVALID_ARGUMENT' });
});

test('a decoder embeds with a pooling that it is opened with, in steps of any size', async () => {
  const whole = await open(pathOf('llama'), { pooling: 'none', cacheType: 'f32' });
  const { vectors } = await whole.embedTokens(IDS);
  await assert.rejects(whole.embed(IDS), { code: 'EMBEDDINGS_UNSUPPORTED' });
  await whole.dispose();
  assert.equal(vectors.length, IDS.length);
  const mean = vectors[0]?.map((_, i) => vectors.reduce((sum, row) => sum + (row[i] ?? 0), 0) / IDS.length);
  for (const [pooling, expected] of [
    ['last', vectors.at(-1)],
    ['first', vectors[0]],
    ['mean', mean],
  ] as const) {
    await using model = await open(pathOf('llama'), { pooling, batch: 3, cacheType: 'f32' });
    const { vector } = await model.embed(IDS, { normalized: false });
    assert.ok(expected && difference(vector, expected) < 1e-5, pooling);
    assert.throws(() => model.generate(IDS), { code: 'GENERATION_UNSUPPORTED' });
  }
});

test('a vector is cut before it is normalized', async () => {
  await using model = await open(pathOf('qwen3-embedding'), {});
  const whole = await model.embed(IDS, { normalized: false });
  const raw = await model.embed(IDS, { normalized: false, dimensions: 5 });
  assert.deepEqual(raw.vector, whole.vector.slice(0, 5));
  const { vector } = await model.embed(IDS, { dimensions: 5 });
  const length = Math.hypot(...raw.vector);
  assert.ok(
    difference(
      vector,
      raw.vector.map((value) => value / length),
    ) < 1e-6,
  );
  for (const dimensions of [0, 33, 2.5]) {
    await assert.rejects(model.embed(IDS, { dimensions }), { code: 'INVALID_ARGUMENT' });
  }
});

test('a ranker on a thread of its own scores as one on this thread', async (t) => {
  const of = { device: 'cpu', threads: 1 } as const;
  const there = await loadModelInWorker(pathOf('qwen3-reranker'), of);
  t.after(() => there.dispose());
  await using here: LanguageModel = await loadModel(pathOf('qwen3-reranker'), of);
  assert.deepEqual(await there.classify(IDS), await here.classify(IDS));
  assert.deepEqual(await there.rerank('#', ['$', '%&']), await here.rerank('#', ['$', '%&']));
  await assert.rejects(there.embed(IDS), { code: 'EMBEDDINGS_UNSUPPORTED' });
});
