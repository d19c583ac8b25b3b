import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { toFile } from 'openai';
import { FolderBlobs } from '../../../src/node/folder-blobs.ts';
import type { ModelServer, ServerOptions } from '../../../src/server/index.ts';
import { until } from '../../support/hung.ts';
import { temporaryFolder } from '../../support/temporary.ts';
import { listen, tinyServer } from '../../support/test-server.ts';

const [ANN, BEN] = ['sk-ann', 'sk-ben'];
const ASK = { model: 'tiny', messages: [{ role: 'user' as const, content: 'hi' }], temperature: 0 };
const SHORT = { ...ASK, max_tokens: 3, ignore_eos: true };
/** Ends when it is cancelled, or when the context of the tiny model is full. */
const LONG = { ...ASK, max_tokens: 10_000, ignore_eos: true };
const PATH = '/v1/chat/completions';

interface Clients {
  readonly server: ModelServer;
  readonly openai: OpenAI;
  readonly other: OpenAI;
  readonly anthropic: Anthropic;
}

async function clients(t: TestContext, options: Partial<ServerOptions> = {}): Promise<Clients> {
  const server = await tinyServer(t, { keys: [ANN, BEN], parallel: 2, ...options });
  const url = await listen(t, server);
  const client = (apiKey: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
  const anthropic = new Anthropic({ baseURL: url, apiKey: ANN, maxRetries: 0 });
  return { server, openai: client(ANN), other: client(BEN), anthropic };
}

const line = (custom_id: string, body: object, url = PATH) => ({ custom_id, method: 'POST', url, body });

async function upload({ openai }: Clients, lines: readonly unknown[]): Promise<OpenAI.FileObject> {
  const text = lines.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join('\n');
  return openai.files.create({ purpose: 'batch', file: await toFile(Buffer.from(text), 'in.jsonl') });
}

async function batchOf(to: Clients, lines: readonly unknown[], endpoint = PATH): Promise<OpenAI.Batch> {
  const { id } = await upload(to, lines);
  return to.openai.batches.create({
    input_file_id: id,
    completion_window: '24h',
    endpoint: endpoint as never,
  });
}

async function ended({ openai }: Clients, id: string): Promise<OpenAI.Batch> {
  let batch = await openai.batches.retrieve(id);
  await until(
    () => `the batch is ${batch.status}`,
    async () => {
      batch = await openai.batches.retrieve(id);
      return ['completed', 'failed', 'cancelled', 'expired'].includes(batch.status);
    },
  );
  return batch;
}

interface Result {
  readonly custom_id: string;
  readonly response: { status_code: number; body: OpenAI.ChatCompletion };
}

async function linesOf({ openai }: Clients, file: string | undefined): Promise<Result[]> {
  const text = await (await openai.files.content(file ?? '')).text();
  return text
    .trim()
    .split('\n')
    .map((one) => JSON.parse(one) as Result);
}

test('files are stored, listed, read and removed, by their own key alone', async (t) => {
  const to = await clients(t, { storeBytes: 2 ** 20 });
  const { openai, other } = to;
  const bytes = new Uint8Array(300_000).map((_, at) => (at % 7 === 0 ? 13 : (at * at) % 251));
  const file = await openai.files.create({
    file: await toFile(bytes, 'a "b".bin'),
    purpose: 'user_data',
    expires_after: { anchor: 'created_at', seconds: 3600 },
  });
  assert.deepEqual([file.bytes, file.filename, file.purpose], [bytes.length, 'a "b".bin', 'user_data']);
  assert.equal((file.expires_at ?? 0) - file.created_at, 3600);
  assert.deepEqual(await openai.files.retrieve(file.id), file);
  const content = new Uint8Array(await (await openai.files.content(file.id)).arrayBuffer());
  assert.deepEqual(content, bytes);
  const second = await upload(to, ['x']);
  const listed: string[] = [];
  for await (const { id } of openai.files.list({ limit: 1, order: 'asc' })) listed.push(id);
  assert.deepEqual(listed, [file.id, second.id]);
  assert.deepEqual(
    (await openai.files.list({ purpose: 'batch' })).data.map(({ id }) => id),
    [second.id],
  );
  assert.deepEqual((await other.files.list()).data, []);
  for (const use of [
    () => other.files.retrieve(file.id),
    () => other.files.content(file.id),
    () => other.files.delete(file.id),
  ]) {
    await assert.rejects(use, OpenAI.NotFoundError);
  }
  const big = new Uint8Array(2 ** 20);
  await assert.rejects(
    openai.files.create({ file: await toFile(big, 'big'), purpose: 'batch' }),
    (error: unknown) => error instanceof OpenAI.APIError && error.status === 507,
  );
  await assert.rejects(
    openai.files.create({ file: await toFile(bytes, 'x'), purpose: 'other' as never }),
    OpenAI.BadRequestError,
  );
  assert.equal((await openai.files.delete(file.id)).deleted, true);
  await assert.rejects(openai.files.retrieve(file.id), OpenAI.NotFoundError);
});

test('a batch answers each of its lines, and tells which failed', async (t) => {
  const to = await clients(t);
  const direct = await to.openai.chat.completions.create(SHORT);
  const batch = await batchOf(to, [
    line('one', SHORT),
    line('two', { ...SHORT, model: 'other' }),
    line('three', { ...SHORT, stream: true }),
    '',
    line('four', SHORT),
  ]);
  assert.equal(batch.status, 'validating');
  const done = await ended(to, batch.id);
  assert.equal(done.status, 'completed', JSON.stringify(done.errors));
  assert.deepEqual(done.request_counts, { total: 4, completed: 2, failed: 2 });
  const answers = await linesOf(to, done.output_file_id);
  assert.deepEqual(answers.map(({ custom_id: id }) => id).toSorted(), ['four', 'one']);
  for (const { response } of answers) {
    assert.equal(response.body.choices[0]?.message.content, direct.choices[0]?.message.content);
  }
  const failed = await linesOf(to, done.error_file_id);
  assert.deepEqual(failed.map(({ custom_id: id, response }) => [id, response.status_code]).toSorted(), [
    ['three', 400],
    ['two', 404],
  ]);
  const { data } = await to.openai.batches.list();
  assert.deepEqual(data, [done]);
  await assert.rejects(to.other.batches.retrieve(batch.id), OpenAI.NotFoundError);
  await assert.rejects(to.openai.batches.cancel(batch.id), OpenAI.ConflictError);
});

test('a batch whose lines are not right fails before any of them runs', async (t) => {
  const to = await clients(t);
  const lines = [line('one', SHORT), 'no JSON', line('one', SHORT), line('two', SHORT, '/v1/embeddings')];
  const failed = await ended(to, (await batchOf(to, lines)).id);
  assert.equal(failed.status, 'failed');
  assert.deepEqual(
    failed.errors?.data?.map((error) => error.line),
    [2, 3, 4],
  );
  assert.equal(failed.output_file_id, null);
  const [own] = (await to.openai.files.list()).data;
  const create = () =>
    to.other.batches.create({ input_file_id: own?.id ?? '', completion_window: '24h', endpoint: PATH });
  await assert.rejects(create, OpenAI.NotFoundError);
});

test('a batch is cancelled', async (t) => {
  const to = await clients(t);
  const { id } = await batchOf(
    to,
    Array.from({ length: 40 }, (_, at) => line(`${at}`, LONG)),
  );
  await until(
    () => 'the batch does not run',
    async () => (await to.openai.batches.retrieve(id)).status === 'in_progress',
  );
  assert.equal((await to.openai.batches.cancel(id)).status, 'cancelling');
  assert.equal((await ended(to, id)).status, 'cancelled');
});

test('a batch that a server has not finished is finished by the next one with its folder', async (t) => {
  const folder = temporaryFolder(t);
  const store = await FolderBlobs.open(folder);
  const first = await clients(t, { store });
  const lines = Array.from({ length: 30 }, (_, at) => line(`${at}`, SHORT));
  const { id } = await batchOf(first, lines);
  await until(
    () => 'no line is answered',
    async () => ((await first.openai.batches.retrieve(id)).request_counts?.completed ?? 0) > 0,
  );
  await first.server[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  const second = await clients(t, { store: await FolderBlobs.open(folder) });
  const done = await ended(second, id);
  assert.equal(done.status, 'completed');
  const answers = await linesOf(second, done.output_file_id);
  assert.deepEqual(
    answers.map((answer) => Number(answer.custom_id)).toSorted((a, b) => a - b),
    lines.map((_, at) => at),
  );
});

test('a batch of messages has a result for each request', async (t) => {
  const { anthropic, openai } = await clients(t);
  const { batches } = anthropic.messages;
  const results = async (id: string) => {
    await until(
      () => 'the batch has not ended',
      async () => (await batches.retrieve(id)).processing_status === 'ended',
    );
    const found = new Map<string, Anthropic.Messages.MessageBatchResult>();
    for await (const { custom_id, result } of await batches.results(id)) found.set(custom_id, result);
    return found;
  };
  const batch = await batches.create({
    requests: [
      { custom_id: 'good', params: SHORT },
      { custom_id: 'bad', params: { ...SHORT, model: 'other' } },
    ],
  });
  const found = await results(batch.id);
  const [good, bad] = [found.get('good'), found.get('bad')];
  assert.ok(good?.type === 'succeeded' && good.message.usage.output_tokens === 3);
  assert.ok(bad?.type === 'errored' && bad.error.error.type === 'not_found_error');
  const { request_counts: counts } = await batches.retrieve(batch.id);
  assert.deepEqual(counts, { processing: 0, succeeded: 1, errored: 1, canceled: 0, expired: 0 });
  const requests = Array.from({ length: 40 }, (_, at) => ({ custom_id: `${at}`, params: LONG }));
  const long = await batches.create({ requests });
  await batches.cancel(long.id);
  assert.equal((await results(long.id)).size, 40);
  assert.ok((await batches.retrieve(long.id)).request_counts.canceled > 0);
  const listed: string[] = [];
  for await (const { id } of batches.list({ limit: 1 })) listed.push(id);
  assert.deepEqual(listed, [long.id, batch.id]);
  assert.equal((await batches.delete(batch.id)).id, batch.id);
  await assert.rejects(batches.retrieve(batch.id), Anthropic.NotFoundError);
  assert.deepEqual((await openai.batches.list()).data, []);
});
