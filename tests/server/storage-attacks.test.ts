import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelServer } from '../../src/server/index.ts';
import { MemoryBlobs } from '../../src/server/storage/memory-blobs.ts';
import { until } from '../support/hung.ts';
import { activeRequests, post, tinyServer } from '../support/test-server.ts';

interface Told {
  readonly id: string;
  readonly processing_status?: string;
  readonly error?: { readonly reason: string; readonly param: string };
}

async function send(server: ModelServer, path: string, body: unknown): Promise<Told> {
  return (await (await server.fetch(post(path, body))).json()) as Told;
}

test('bytes that arrive one by one are kept in pieces of many', async () => {
  const blobs = new MemoryBlobs();
  const single = async function* () {
    for (let i = 0; i < 20_000; i++) yield Uint8Array.of(i);
  };
  await blobs.write('a', single());
  await blobs.append('a', Uint8Array.of(7, 8));
  const pieces: Uint8Array[] = [];
  for await (const piece of blobs.read('a')) pieces.push(piece);
  assert.ok(pieces.length < 20, `${pieces.length} pieces`);
  assert.deepEqual(
    Buffer.concat(pieces),
    Buffer.from([...Array.from({ length: 20_000 }, (_, i) => i % 256), 7, 8]),
  );
});

test('a conversation grows no larger than a request may be', async (t) => {
  const server = await tinyServer(t);
  const content = Array.from({ length: 12_000 }, () => ({ type: 'input_text', text: '' }));
  const items = [{ type: 'message', role: 'user', content }];
  const { id } = await send(server, '/v1/conversations', { items });
  const { error } = await send(server, `/v1/conversations/${id}/items`, { items });
  assert.deepEqual([error?.reason, error?.param], ['REQUEST_INVALID', 'conversation']);
  const added = await send(server, `/v1/conversations/${id}/items`, {
    items: [{ type: 'message', role: 'user', content: 'hi' }],
  });
  assert.equal(added.error, undefined, 'smaller ones are still added');
});

test('responses that were never carried out are no way around the bounds of a request', async (t) => {
  const server = await tinyServer(t);
  const input = 'a b '.repeat(1_750_000);
  let previous_response_id: string | undefined;
  let refused: Told['error'];
  for (let turn = 0; turn < 6 && !refused; turn++) {
    const body = { input, background: true, previous_response_id };
    const { id, error } = await send(server, '/v1/responses', body);
    refused = error;
    previous_response_id = id;
    if (id === undefined) continue;
    await until(
      () => 'a response does not fail',
      async () => {
        const response = await server.fetch(new Request(`http://server/v1/responses/${id}`));
        return ((await response.json()) as { status: string }).status === 'failed';
      },
    );
  }
  assert.deepEqual([refused?.reason, refused?.param], ['REQUEST_INVALID', 'previous_response_id']);
});

test('an item that is named many times counts as many times', async (t) => {
  const server = await tinyServer(t);
  const ask = { max_output_tokens: 1, store: true };
  const { id } = await send(server, '/v1/responses', { ...ask, input: 'hello '.repeat(10) });
  const listed = await server.fetch(new Request(`http://server/v1/responses/${id}/input_items`));
  const [item] = ((await listed.json()) as { data: { id: string }[] }).data;
  const names = (count: number) =>
    Array.from({ length: count }, () => ({ type: 'item_reference', id: item?.id }));
  assert.equal(
    (await send(server, '/v1/responses', { ...ask, input: names(1) })).error ?? undefined,
    undefined,
  );
  const { error } = await send(server, '/v1/responses', { ...ask, input: names(12_000) });
  assert.deepEqual([error?.reason, error?.param], ['REQUEST_INVALID', 'input']);
});

test('however many batches there are, they run no more requests at once than the server has sequences', async (t) => {
  const server = await tinyServer(t, { parallel: 2, queue: 0 });
  const params = { model: 'tiny', max_tokens: 4, messages: [{ role: 'user', content: 'hi' }] };
  const requests = [1, 2, 3].map((index) => ({ custom_id: `c${index}`, params }));
  const batches: string[] = [];
  for (let i = 0; i < 8; i++) batches.push((await send(server, '/v1/messages/batches', { requests })).id);
  let most = 0;
  await until(
    () => 'batches do not end',
    async () => {
      most = Math.max(most, await activeRequests(server));
      const told = await Promise.all(
        batches.map(async (id) => {
          const response = await server.fetch(new Request(`http://server/v1/messages/batches/${id}`));
          return (await response.json()) as Told;
        }),
      );
      return told.every((batch) => batch.processing_status === 'ended');
    },
  );
  assert.ok(most <= 2, `${most} requests at once`);
});
