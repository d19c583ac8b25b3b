import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import OpenAI from 'openai';
import { FolderBlobs } from '../../../src/node/folder-blobs.ts';
import type { ServerOptions } from '../../../src/server/index.ts';
import { until } from '../../support/hung.ts';
import { temporaryFolder } from '../../support/temporary.ts';
import { listen, tinyServer } from '../../support/test-server.ts';

const [ANN, BEN] = ['sk-ann', 'sk-ben'];
const SHORT = { model: 'tiny', temperature: 0, max_output_tokens: 4, ignore_eos: true };

/** Clients of a tiny server, each with its own key. */
async function clients(t: TestContext, options: Partial<ServerOptions> = {}): Promise<[OpenAI, OpenAI]> {
  const server = await tinyServer(t, { keys: [ANN, BEN], ...options });
  const url = await listen(t, server);
  const client = (apiKey: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
  return [client(ANN), client(BEN)];
}

test('a response is stored, continued, listed and removed, by its own key alone', async (t) => {
  const [ann, ben] = await clients(t);
  const first = await ann.responses.create({ ...SHORT, input: 'hi', instructions: 'Be brief.' });
  assert.deepEqual(await ann.responses.retrieve(first.id), first);
  const second = await ann.responses.create({ ...SHORT, input: 'and then?', previous_response_id: first.id });
  assert.equal(second.previous_response_id, first.id);
  const whole = await ann.responses.create({
    ...SHORT,
    store: false,
    input: [
      { role: 'user', content: 'hi' },
      ...(first.output as OpenAI.Responses.ResponseInput),
      { role: 'user', content: 'and then?' },
    ],
  });
  assert.equal(second.usage?.input_tokens, whole.usage?.input_tokens);
  assert.equal(second.output_text, whole.output_text);
  const counted = await ann.responses.inputTokens.count({
    model: 'tiny',
    input: 'and then?',
    previous_response_id: first.id,
  });
  assert.equal(counted.input_tokens, second.usage?.input_tokens);
  const { data } = await ann.responses.inputItems.list(second.id);
  assert.deepEqual(
    data.map((item) => item.type === 'message' && item.content),
    [[{ type: 'input_text', text: 'and then?' }]],
  );
  for (const other of [
    () => ben.responses.retrieve(first.id),
    () => ben.responses.delete(first.id),
    async () => ben.responses.inputItems.list(first.id),
    () => ben.responses.create({ ...SHORT, input: 'x', previous_response_id: first.id }),
    () => ann.responses.retrieve(whole.id),
    () => ann.responses.retrieve('resp_..%2f..%2fx'),
  ]) {
    await assert.rejects(other, OpenAI.NotFoundError);
  }
  await ann.responses.delete(first.id);
  await assert.rejects(ann.responses.retrieve(first.id), OpenAI.NotFoundError);
  await assert.rejects(
    ann.responses.create({ ...SHORT, input: 'x', previous_response_id: second.id }),
    OpenAI.NotFoundError,
  );
});

test('references stand for items of stored responses and of the conversation', async (t) => {
  const [ann, ben] = await clients(t);
  const first = await ann.responses.create({ ...SHORT, input: 'hi' });
  const [asked] = (await ann.responses.inputItems.list(first.id)).data;
  const [said] = first.output;
  const refer = (...ids: (string | undefined)[]) =>
    ids.map((id) => ({ type: 'item_reference' as const, id: id ?? '' }));
  const more = { role: 'user' as const, content: 'and then?' };
  const ask = (input: OpenAI.Responses.ResponseInput) => ({
    ...SHORT,
    input: [...input, more],
    store: false,
  });
  const whole = await ann.responses.create(
    ask([{ role: 'user', content: 'hi' }, said as OpenAI.Responses.ResponseOutputMessage]),
  );
  const referring = await ann.responses.create(ask(refer(asked?.id, said?.id)));
  assert.deepEqual(
    [referring.output_text, referring.usage?.input_tokens],
    [whole.output_text, whole.usage?.input_tokens],
  );
  for (const id of ['msg_none', `msg_${'0'.repeat(32)}o0`, `${said?.id}1`, '../x']) {
    await assert.rejects(ann.responses.create(ask(refer(id))), OpenAI.NotFoundError);
  }
  await assert.rejects(ben.responses.create(ask(refer(said?.id))), OpenAI.NotFoundError);
  const { id } = await ann.conversations.create({
    items: [{ type: 'message', role: 'user', content: 'hello' }],
  });
  const [own] = (await ann.conversations.items.list(id)).data;
  const repeated = await ann.responses.create({ ...ask(refer(own?.id)), conversation: id });
  const plain = await ann.responses.create(
    ask([
      { role: 'user', content: 'hello' },
      { role: 'user', content: 'hello' },
    ]),
  );
  assert.equal(repeated.usage?.input_tokens, plain.usage?.input_tokens);
});

test('where the context is too small for all, truncation leaves out the oldest items', async (t) => {
  const [ann] = await clients(t);
  const turn = (content: string) => ({ role: 'user' as const, content });
  const input = [
    turn('a'.repeat(60)),
    { role: 'assistant' as const, content: 'b' },
    turn('c'.repeat(60)),
    turn('d'),
  ];
  const ask = { ...SHORT, input, instructions: 'Be brief.' };
  await assert.rejects(ann.responses.create(ask), OpenAI.BadRequestError);
  const cut = await ann.responses.create({ ...ask, truncation: 'auto' });
  assert.equal(cut.truncation, 'auto');
  const rest = await ann.responses.create({ ...ask, input: input.slice(2) });
  assert.deepEqual([cut.output_text, cut.usage?.input_tokens], [rest.output_text, rest.usage?.input_tokens]);
  const kept = await ann.responses.create({
    ...ask,
    input: [{ role: 'developer', content: 'x' }, ...input],
    truncation: 'auto',
  });
  assert.ok(
    (kept.usage?.input_tokens ?? 0) > (rest.usage?.input_tokens ?? 0),
    'what the developer says stays',
  );
  const short = await ann.responses.create({ ...ask, input: 'hi', truncation: 'auto' });
  assert.equal(short.output_text, (await ann.responses.create({ ...ask, input: 'hi' })).output_text);
  await assert.rejects(
    ann.responses.create({ ...ask, input: 'e'.repeat(200), truncation: 'auto' }),
    OpenAI.BadRequestError,
  );
});

test('a streamed response is stored when its last event comes', async (t) => {
  const [ann] = await clients(t);
  let last: OpenAI.Responses.Response | undefined;
  for await (const event of await ann.responses.create({ ...SHORT, input: 'hi', stream: true })) {
    if (event.type === 'response.completed' || event.type === 'response.incomplete') last = event.response;
  }
  assert.ok(last);
  assert.equal((await ann.responses.retrieve(last.id)).status, 'incomplete');
});

test('conversations collect the items of their responses', async (t) => {
  const [ann, ben] = await clients(t);
  const { id } = await ann.conversations.create({
    metadata: { topic: 'x' },
    items: [{ type: 'message', role: 'user', content: 'hello' }],
  });
  const first = await ann.responses.create({ ...SHORT, input: 'hi', conversation: id });
  assert.deepEqual(first.conversation, { id });
  const second = await ann.responses.create({ ...SHORT, input: 'more', conversation: { id } });
  assert.ok((second.usage?.input_tokens ?? 0) > (first.usage?.input_tokens ?? 0));
  const listed: OpenAI.Conversations.ConversationItem[] = [];
  for await (const item of ann.conversations.items.list(id, { order: 'asc', limit: 2 })) listed.push(item);
  assert.deepEqual(
    listed.map((item) => item.type === 'message' && item.role),
    ['user', 'user', 'assistant', 'user', 'assistant'],
  );
  const [, item] = listed;
  assert.ok(item?.id);
  assert.deepEqual(await ann.conversations.items.retrieve(item.id, { conversation_id: id }), item);
  await ann.conversations.items.delete(item.id, { conversation_id: id });
  await assert.rejects(
    ann.conversations.items.retrieve(item.id, { conversation_id: id }),
    OpenAI.NotFoundError,
  );
  const added = await ann.conversations.items.create(id, {
    items: [{ type: 'message', role: 'user', content: 'one more' }],
  });
  assert.equal(added.data.length, 1);
  const updated = await ann.conversations.update(id, { metadata: { topic: 'y' } });
  assert.deepEqual((await ann.conversations.retrieve(id)).metadata, updated.metadata);
  await assert.rejects(ben.conversations.retrieve(id), OpenAI.NotFoundError);
  await assert.rejects(
    ann.responses.create({ ...SHORT, input: 'x', conversation: id, previous_response_id: first.id }),
    OpenAI.BadRequestError,
  );
  assert.equal((await ann.conversations.delete(id)).deleted, true);
  await assert.rejects(
    ann.responses.create({ ...SHORT, input: 'x', conversation: id }),
    OpenAI.NotFoundError,
  );
  assert.ok((await ann.conversations.create()).id);
});

test('a response in the background ends by itself, or is cancelled', async (t) => {
  const [ann] = await clients(t);
  const ended = async (id: string) => {
    let response = await ann.responses.retrieve(id);
    await until(
      () => `the response is ${response.status}`,
      async () => {
        response = await ann.responses.retrieve(id);
        return response.status !== 'queued' && response.status !== 'in_progress';
      },
    );
    return response;
  };
  const begun = await ann.responses.create({ ...SHORT, input: 'hi', background: true });
  assert.equal(begun.status, 'queued');
  const response = await ended(begun.id);
  assert.deepEqual([response.status, response.background], ['incomplete', true]);
  assert.equal(response.usage?.output_tokens, 4);
  const long = await ann.responses.create({
    ...SHORT,
    max_output_tokens: 100_000,
    input: 'hi',
    background: true,
    truncate_prompt_tokens: 1,
  } as OpenAI.Responses.ResponseCreateParamsNonStreaming);
  const cancelled = await ann.responses.cancel(long.id);
  assert.equal((await ended(long.id)).status, cancelled.status);
  const wrong = await ann.responses.create({
    ...SHORT,
    input: 'hi',
    background: true,
    tool_choice: 'required',
  });
  const failed = await ended(wrong.id);
  assert.deepEqual([failed.status, failed.error?.code], ['failed', 'REQUEST_INVALID']);
});

test('what is stored in a folder survives the server, within its bounds', async (t) => {
  const folder = temporaryFolder(t);
  const store = () => FolderBlobs.open(folder);
  const first = await store();
  const [ann] = await clients(t, { store: first });
  const kept = await ann.responses.create({ ...SHORT, input: 'hi' });
  await assert.rejects(store(), { code: 'FOLDER_IN_USE' });
  await first[Symbol.asyncDispose]();
  const [again, ben] = await clients(t, { store: await store(), storeItems: 3 });
  assert.deepEqual(await again.responses.retrieve(kept.id), kept);
  await assert.rejects(ben.responses.retrieve(kept.id), OpenAI.NotFoundError);
  const own = await ben.responses.create({ ...SHORT, input: 'hi' });
  const others: string[] = [];
  for (let i = 0; i < 3; i++) others.push((await again.responses.create({ ...SHORT, input: 'hi' })).id);
  // The one who has more loses what is oldest.
  assert.equal((await ben.responses.retrieve(own.id)).id, own.id);
  await assert.rejects(again.responses.retrieve(kept.id), OpenAI.NotFoundError);
  await assert.rejects(again.responses.retrieve(others[0] ?? ''), OpenAI.NotFoundError);
  assert.equal((await again.responses.retrieve(others[2] ?? '')).id, others[2]);
  const files = readdirSync(folder, { recursive: true }).map(String);
  assert.equal(files.filter((name) => name.endsWith('.json')).length, 3);
  assert.ok(files.every((name) => !name.includes(ANN)));
});

test('answers to chats are stored where that is asked for, streamed or not', async (t) => {
  const [ann, ben] = await clients(t);
  const { completions } = ann.chat;
  const messages = [{ role: 'user' as const, content: 'hi' }];
  const ask = { model: 'tiny', temperature: 0, max_tokens: 3, messages };
  await completions.create(ask);
  const whole = await completions.create({ ...ask, store: true, metadata: { a: '1' } });
  assert.deepEqual(await completions.retrieve(whole.id), whole);
  let streamed = '';
  for await (const { id } of await completions.create({ ...ask, store: true, stream: true })) streamed = id;
  assert.deepEqual((await completions.retrieve(streamed)).choices, whole.choices);
  const ids = async (query: OpenAI.ChatCompletionListParams) =>
    (await completions.list(query)).data.map(({ id }) => id);
  assert.deepEqual(await ids({}), [whole.id, streamed]);
  assert.deepEqual(await ids({ metadata: { a: '1' } }), [whole.id]);
  assert.deepEqual(await ids({ model: 'other' }), []);
  await completions.update(streamed, { metadata: { a: '1' } });
  assert.deepEqual(await ids({ metadata: { a: '1' } }), [whole.id, streamed]);
  const [message] = (await completions.messages.list(whole.id)).data;
  assert.equal(message?.content, 'hi');
  await assert.rejects(ben.chat.completions.retrieve(whole.id), OpenAI.NotFoundError);
  assert.equal((await completions.delete(whole.id)).deleted, true);
  await assert.rejects(completions.retrieve(whole.id), OpenAI.NotFoundError);
});
