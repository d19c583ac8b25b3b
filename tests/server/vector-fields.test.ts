import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { ModelServer } from '../../src/server/index.ts';
import { VECTOR_ENDPOINTS } from '../support/fields-page.ts';
import type { Fields } from '../support/field-answers.ts';
import { post } from '../support/test-server.ts';
import { vectorServer } from '../support/vector-server.ts';

/** A vector, or several of a text. */
type Vectors = readonly number[] | readonly (readonly number[])[];

/** What is read of an answer, in any format. */
interface Read {
  readonly status: number;
  readonly ignored: string | null;
  readonly body: string;
  readonly model: string | undefined;
  /** Of the first text. */
  readonly vector: Vectors | string | undefined;
  readonly scores: readonly number[];
  readonly tokens: number | undefined;
}

interface Said {
  readonly model?: string;
  readonly data?: readonly { embedding?: number[]; score?: number; probs?: number[] }[];
  readonly results?: readonly { relevance_score: number }[];
  readonly embeddings?: readonly number[][];
  readonly embedding?: number[];
  readonly usage?: { readonly prompt_tokens: number };
  readonly prompt_eval_count?: number;
}

function serverOf(t: TestContext): ModelServer {
  return vectorServer(t, { bert: { name: 'bert' }, rank: { name: 'bert-reranker' } });
}

/** A request that an endpoint answers. */
function plainRequest(path: string): Fields {
  if (path.includes('rerank')) return { model: 'rank', query: '#$', documents: ['$%&', "'''"] };
  if (path.includes('score')) return { model: 'rank', text_1: '#$', text_2: ['$%&', "'''"] };
  if (path.includes('classify')) return { model: 'rank', input: 'a b' };
  return { model: 'bert', ...(path === '/api/embeddings' ? { prompt: 'a b' } : { input: 'a b' }) };
}

async function answer(server: ModelServer, path: string, fields: Fields): Promise<Read> {
  const response = await server.fetch(post(path, { ...plainRequest(path), ...fields }));
  const body = await response.text();
  const said = JSON.parse(body) as Said & readonly { embedding?: Vectors; score?: number }[];
  const ranked = Array.isArray(said) ? said : (said.data ?? []);
  const scores = said.results?.map((of) => of.relevance_score) ?? [];
  return {
    status: response.status,
    ignored: response.headers.get('x-rocmforge-ignored-fields'),
    body,
    model: said.model,
    vector: said.embedding ?? said.embeddings?.[0] ?? ranked[0]?.embedding,
    scores: [...scores, ...ranked.flatMap((of) => ('probs' in of ? (of.probs ?? []) : (of.score ?? [])))],
    tokens: said.usage?.prompt_tokens ?? said.prompt_eval_count,
  };
}

/** The only vector of an answer. */
function numbersOf({ vector }: Read): number[] {
  return [vector].flat(2) as number[];
}

type Ask = (fields: Fields) => Promise<Read>;

const differs = (fields: Fields) => async (ask: Ask) => {
  const [plain, changed] = [await ask({}), await ask(fields)];
  assert.equal(changed.status, 200, changed.body);
  assert.notDeepEqual([changed.vector, changed.scores], [plain.vector, plain.scores]);
};

/** What shows of each honoured field that it does what it should. */
const SEEN: Readonly<Record<string, (ask: Ask, path: string) => Promise<unknown>>> = {
  content: async (ask) => {
    const input = await ask({ input: 'b a' });
    assert.deepEqual((await ask({ input: undefined, content: 'b a' })).vector, input.vector);
  },
  dimensions: async (ask) => assert.equal(numbersOf(await ask({ dimensions: 4 })).length, 4),
  documents: differs({ documents: ['$%&', 'x y'] }),
  embd_normalize: async (ask) => {
    const norm = (of: Read) => Math.hypot(...numbersOf(of));
    assert.ok(Math.abs(norm(await ask({})) - 1) < 1e-4);
    assert.ok(Math.abs(norm(await ask({ embd_normalize: -1 })) - 1) > 1e-3);
  },
  encoding_format: async (ask) => {
    const { vector } = await ask({ encoding_format: 'base64' });
    const bytes = Buffer.from(vector as string, 'base64');
    assert.equal(bytes.readFloatLE(4), Math.fround((await ask({})).vector?.[1] as number));
  },
  input: differs({ input: 'b a c' }),
  keep_alive: async (ask) => {
    assert.equal((await ask({ keep_alive: 'soon' })).status, 400);
    assert.equal((await ask({ keep_alive: '1m' })).status, 200);
  },
  model: async (ask) => assert.equal((await ask({ model: 'other' })).status, 404),
  pooling: async (ask) => {
    const pooled = async (pooling: string) => String((await ask({ input: [5, 6, 7], pooling })).vector);
    assert.equal(new Set([await pooled('cls'), await pooled('mean'), await pooled('last')]).size, 3);
  },
  prompt: differs({ prompt: 'b a c' }),
  query: differs({ query: 'x' }),
  raw_scores: async (ask) => {
    const texts = { documents: undefined, texts: ['$%&', 'x y'] };
    const [score = 9] = (await ask(texts)).scores;
    const [likely = 9] = (await ask({ ...texts, raw_scores: false })).scores;
    assert.ok(Math.abs(likely - 1 / (1 + Math.exp(-score))) < 1e-9);
  },
  return_documents: async (ask) => {
    assert.doesNotMatch((await ask({})).body, /"document"/);
    assert.match((await ask({ return_documents: true })).body, /"document":\{"text":/);
  },
  return_text: async (ask) => {
    const texts = { documents: undefined, texts: ['$%&'] };
    assert.doesNotMatch((await ask(texts)).body, /"text"/);
    assert.match((await ask({ ...texts, return_text: true })).body, /"text":"\$%&"/);
  },
  text_1: differs({ text_1: 'x' }),
  text_2: differs({ text_2: ['x', 'y z'] }),
  texts: async (ask) => {
    const { scores } = await ask({ documents: undefined, texts: ['$%&', "'''"] });
    assert.deepEqual(scores, (await ask({})).scores);
  },
  top_n: async (ask) => {
    const { scores } = await ask({});
    assert.deepEqual((await ask({ top_n: 1 })).scores, scores.slice(0, 1));
  },
  truncate: async (ask) => {
    const input = 'a '.repeat(600);
    assert.equal((await ask({ input })).status, 400);
    assert.equal((await ask({ input, truncate: true })).status, 200);
  },
  use_activation: async (ask) => {
    const { scores } = await ask({});
    assert.ok(scores.every((score) => score >= 0 && score <= 1));
    assert.notDeepEqual((await ask({ use_activation: false })).scores, scores);
  },
};

test('each field that is honoured by embeddings, ranks and labels changes the answer as it should', async (t) => {
  const server = serverOf(t);
  for (const { path, honoured } of VECTOR_ENDPOINTS) {
    const ask: Ask = (fields) => answer(server, path, fields);
    for (const field of honoured) {
      const seen = SEEN[field] ?? assert.fail(`nothing shows what ${field} does`);
      await seen(ask, path).catch((error: unknown) => assert.fail(`${path} ${field}: ${String(error)}`));
    }
  }
});

test('what they do not honour is refused by name, harmless or told', async (t) => {
  const server = serverOf(t);
  for (const { path, honoured, others } of VECTOR_ENDPOINTS) {
    for (const [field, { verdict, why, neutral }] of Object.entries(others)) {
      if (honoured.has(field)) continue;
      const { status, body, ignored } = await answer(server, path, { [field]: 'something' });
      if (verdict === 'harmless') assert.deepEqual([status, ignored], [200, null], `${path} ${field}`);
      else assert.ok(status === 400 && body.includes(`${field}: ${why}`), `${path} ${field}: ${body}`);
      for (const value of [null, ...neutral]) {
        const asked = await answer(server, path, { [field]: value });
        assert.deepEqual(
          [asked.status, asked.ignored],
          [200, null],
          `${path} ${field} ${JSON.stringify(value)}`,
        );
      }
    }
    assert.equal((await answer(server, path, { colour: 1 })).ignored, 'colour');
  }
});
