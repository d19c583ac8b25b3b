import assert from 'node:assert/strict';
import { test } from 'node:test';
import { post } from '../support/test-server.ts';
import { vectorServer } from '../support/vector-server.ts';

const DOCUMENTS = ['$%&', "'''", '"#$ %'];

/** An answer in one of the formats. */
interface Scores {
  readonly results?: readonly { index: number; relevance_score: number; document?: { text: string } }[];
  readonly data?: readonly { index: number; score: number }[];
  readonly usage?: { prompt_tokens: number; total_tokens: number };
}

test('documents come in the order of their scores, in the formats of Jina, TEI and vLLM', async (t) => {
  const server = vectorServer(t, { bert: { name: 'bert-reranker' }, tiny: { name: 'llama' } });
  const ask = async <T>(path: string, body: object) => {
    const response = await server.fetch(post(path, body));
    assert.equal(response.status, 200, path);
    return (await response.json()) as T;
  };
  const query = '#$';
  const whole = await ask<Scores>('/rerank', { query, documents: DOCUMENTS });
  const { results = [], usage } = whole;
  assert.deepEqual(results.map(({ index }) => index).sort(), [0, 1, 2]);
  const scores = results.map(({ relevance_score: score }) => score);
  assert.deepEqual(
    scores,
    scores.toSorted((a, b) => b - a),
  );
  assert.equal(new Set(scores).size, 3);
  assert.ok(usage && usage.prompt_tokens > 3 && usage.total_tokens === usage.prompt_tokens);
  for (const path of ['/reranking', '/v1/rerank', '/v1/reranking']) {
    assert.deepEqual(await ask(path, { query, documents: DOCUMENTS.map((text) => ({ text })) }), whole);
  }
  const two = { query, documents: DOCUMENTS, top_n: 2, return_documents: true };
  const { results: best = [] } = await ask<Scores>('/v1/rerank', two);
  assert.deepEqual(
    best,
    results.slice(0, 2).map((of) => ({ ...of, document: { text: DOCUMENTS[of.index] } })),
  );
  const tei = await ask<object[]>('/rerank', { query, texts: DOCUMENTS, top_n: 99, return_text: true });
  assert.deepEqual(
    tei,
    results.map(({ index, relevance_score: score }) => ({ index, score, text: DOCUMENTS[index] })),
  );
  const probability = (logit: number) => 1 / (1 + Math.exp(-logit));
  const likely = await ask<{ score: number }[]>('/rerank', { query, texts: DOCUMENTS, raw_scores: false });
  assert.deepEqual(
    likely.map(({ score }) => score),
    scores.map(probability),
  );
  const inOrder = DOCUMENTS.map((_, at) => results.find(({ index }) => index === at)?.relevance_score ?? 0);
  const pairs = { text_1: query, text_2: DOCUMENTS };
  const scored = await ask<Scores>('/v1/score', pairs);
  assert.deepEqual(
    scored.data?.map(({ score }) => score),
    inOrder.map(probability),
  );
  const each = { text_1: DOCUMENTS.map(() => query), text_2: DOCUMENTS, use_activation: false };
  const raw = await ask<Scores>('/score', each);
  assert.deepEqual(
    raw.data?.map(({ score }) => score),
    inOrder,
  );
  const told = await (await server.fetch(new Request('http://server/metrics'))).text();
  assert.match(told, /^vllm:prompt_tokens_total\{model_name="bert"\} [1-9]/m);
});

test('classes come with the probabilities of all labels', async (t) => {
  const server = vectorServer(t, { yes: { name: 'qwen3-reranker' }, one: { name: 'bert-reranker' } });
  const ask = async (path: string, body: object) => {
    const response = await server.fetch(post(path, body));
    return ((await response.json()) as { data: { label: string; probs: number[]; num_classes: number }[] })
      .data;
  };
  const [of, other] = await ask('/v1/classify', { input: [[3, 5, 7], '#'] });
  assert.ok(of && other);
  const [yes = 0, no = 0] = of.probs;
  assert.ok(Math.abs(yes + no - 1) < 1e-6);
  assert.deepEqual([of.label, of.num_classes], [yes > no ? 'yes' : 'no', 2]);
  const asked = { model: 'one', input: [3, 5, 7] };
  const [likely] = await ask('/classify', asked);
  const [raw] = await ask('/v1/classify', { ...asked, use_activation: false });
  assert.deepEqual([likely?.label, raw?.num_classes], ['LABEL_0', 1]);
  assert.ok(Math.abs((likely?.probs[0] ?? 9) - 1 / (1 + Math.exp(-(raw?.probs[0] ?? 0)))) < 1e-6);
});

test('what cannot be ranked is refused before anything is computed', async (t) => {
  const server = vectorServer(t, { bert: { name: 'bert-reranker' }, tiny: { name: 'llama' } });
  const query = '#';
  const cases: [path: string, body: object, code: string][] = [
    ...[[], null, 123, [1, 2, 3]].map((documents): [string, object, string] => [
      '/rerank',
      { query, documents },
      'REQUEST_INVALID',
    ]),
    ['/rerank', { query }, 'REQUEST_INVALID'],
    ['/rerank', { documents: ['#'] }, 'REQUEST_INVALID'],
    ['/rerank', { query, documents: ['#'], texts: ['#'] }, 'REQUEST_INVALID'],
    ['/rerank', { model: 'tiny', query, documents: ['#'] }, 'RANKING_UNSUPPORTED'],
    ['/rerank', { query, documents: ['#', '#'.repeat(90)] }, 'context_length_exceeded'],
    ['/v1/score', { text_1: ['#', '$'], text_2: ['#', '$', '%'] }, 'REQUEST_INVALID'],
    ['/v1/classify', { model: 'tiny', input: '#' }, 'RANKING_UNSUPPORTED'],
    ['/v1/embeddings', { input: '#' }, 'EMBEDDINGS_UNSUPPORTED'],
  ];
  for (const [path, body, code] of cases) {
    const response = await server.fetch(post(path, body));
    const { error } = (await response.json()) as { error: { code: string } };
    assert.deepEqual([response.status, error.code], [400, code], JSON.stringify(body).slice(0, 60));
  }
});
