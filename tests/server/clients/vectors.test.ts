import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { OpenAIEmbeddings } from '@langchain/openai';
import { embed, embedMany } from 'ai';
import { listen, post } from '../../support/test-server.ts';
import { vectorServer } from '../../support/vector-server.ts';

/** The address of a server of an encoder, and what it says itself of a text. */
async function encoder(
  t: TestContext,
): Promise<{ baseURL: string; vectors: (input: unknown) => Promise<number[][]> }> {
  const server = vectorServer(t, { bert: { name: 'bert' } });
  const vectors = async (input: unknown) => {
    const response = await server.fetch(post('/v1/embeddings', { input }));
    const { data } = (await response.json()) as { data: { embedding: number[] }[] };
    return data.map(({ embedding }) => embedding);
  };
  return { baseURL: `${await listen(t, server)}/v1`, vectors };
}

/** Vectors may go through 32-bit floats on their way. */
function assertSame(actual: readonly number[], expected: readonly number[] | undefined): void {
  assert.equal(actual.length, expected?.length);
  for (const [at, value] of actual.entries()) assert.ok(Math.abs(value - (expected?.[at] ?? 9)) < 1e-6);
}

test('embed and embedMany of the AI SDK', async (t) => {
  const { baseURL, vectors } = await encoder(t);
  const model = createOpenAICompatible({ name: 'rocmforge', baseURL }).embeddingModel('bert');
  const expected = await vectors(['a b', 'b a']);
  const one = await embed({ model, value: 'a b', maxRetries: 0 });
  assertSame(one.embedding, expected[0]);
  assert.ok(one.usage.tokens > 0);
  const { embeddings } = await embedMany({ model, values: ['a b', 'b a'], maxRetries: 0 });
  for (const [at, embedding] of embeddings.entries()) assertSame(embedding, expected[at]);
});

test('LangChain’s embeddings, whole and shortened', async (t) => {
  const { baseURL, vectors } = await encoder(t);
  const expected = await vectors(['a b', 'b a']);
  const how = { model: 'bert', apiKey: 'none', maxRetries: 0, configuration: { baseURL } };
  const embeddings = new OpenAIEmbeddings(how);
  assertSame(await embeddings.embedQuery('a b'), expected[0]);
  for (const [at, vector] of (await embeddings.embedDocuments(['a b', 'b a'])).entries()) {
    assertSame(vector, expected[at]);
  }
  assert.equal((await new OpenAIEmbeddings({ ...how, dimensions: 4 }).embedQuery('a b')).length, 4);
});
