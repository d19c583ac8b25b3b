import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { ApiKey, ModelServer } from '../../src/server/index.ts';
import { post, tinyServer } from '../support/test-server.ts';

const CHAT = '/v1/chat/completions';
const ASK = { messages: [{ role: 'user', content: 'hi' }], temperature: 0, ignore_eos: true, max_tokens: 4 };

async function codeOf(response: Response): Promise<unknown> {
  return ((await response.json()) as { error: { code: string } }).error.code;
}

function ask(server: ModelServer, body: object, key?: string): Promise<Response> {
  return server.fetch(post(CHAT, body, key === undefined ? {} : { headers: { 'x-api-key': key } }));
}

/** A streamed answer of which one event was read: its request is inside until the rest was read, or `cancel`led. */
async function begin(server: ModelServer, body: object, key: string) {
  const { status, body: events } = await ask(server, { ...body, stream: true }, key);
  assert.equal(status, 200);
  assert.ok(events);
  const reader = events.getReader();
  assert.equal((await reader.read()).done, false);
  return reader;
}

async function slotsOf(server: ModelServer, key = ''): Promise<{ state: string }[]> {
  const response = await server.fetch(new Request('http://server/slots', { headers: { 'x-api-key': key } }));
  const slots = (await response.json()) as { state: string; is_processing: boolean }[];
  return slots.filter((slot) => slot.is_processing);
}

test('a request of 128 answers holds no more slots and places than there are, and another is answered beside it', async (t) => {
  const server = await tinyServer(t, { parallel: 2, queue: 1 });
  let isOver = false;
  const many = ask(server, { ...ASK, n: 128, max_tokens: 60 }).then((response) => {
    isOver = true;
    return response;
  });
  while ((await slotsOf(server)).length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  assert.equal((await slotsOf(server)).length, 2, 'its sequences begin when there is room');
  const other = await ask(server, ASK);
  assert.deepEqual([other.status, isOver], [200, false]);
  const response = (await (await many).json()) as {
    choices: { index: number; message: { content: string } }[];
  };
  assert.equal(response.choices.length, 128);
  assert.ok(
    response.choices.every(({ message: { content } }) => content === response.choices[0]?.message.content),
  );
});

test('sequences count at the gate, for each key by itself', async (t) => {
  const server = await tinyServer(t, { parallel: 2, queue: 0, keys: ['one', 'two'] });
  const many = await begin(server, { ...ASK, n: 5, max_tokens: 100 }, 'one');
  const refused = await ask(server, ASK, 'one');
  assert.deepEqual([refused.status, await codeOf(refused)], [429, 'SERVER_BUSY']);
  const other = ask(server, ASK, 'two');
  while (!(await many.read()).done);
  assert.equal((await other).status, 200, 'nobody is kept out by another key');
});

test('a key has its limits: requests at a time and a minute, and whether they have priority', async (t) => {
  const keys: ApiKey[] = [
    { key: 'slow', name: 'ann', requestsPerMinute: 2 },
    { key: 'narrow', concurrency: 1 },
    { key: 'first', mayPrioritize: true },
  ];
  const server = await tinyServer(t, { keys });
  const statuses = [];
  for (let i = 0; i < 3; i++) statuses.push((await ask(server, ASK, 'slow')).status);
  assert.deepEqual(statuses, [200, 200, 429]);
  const limited = await ask(server, ASK, 'slow');
  assert.ok(Number(limited.headers.get('retry-after')) >= 1);
  assert.equal(await codeOf(limited), 'rate_limit_exceeded');
  const first = await begin(server, { ...ASK, max_tokens: 100 }, 'narrow');
  assert.equal((await ask(server, ASK, 'narrow')).status, 429);
  await first.cancel();
  const forbidden = await ask(server, { ...ASK, priority: -1 }, 'narrow');
  assert.deepEqual([forbidden.status, await codeOf(forbidden)], [403, 'PRIORITY_FORBIDDEN']);
  assert.equal((await ask(server, { ...ASK, priority: 0 }, 'narrow')).status, 200);
  assert.equal((await ask(server, { ...ASK, priority: -1 }, 'first')).status, 200);
  for (const limit of [{ concurrency: 0 }, { requestsPerMinute: Number.NaN }]) {
    const opening = tinyServer(t, { keys: [{ key: 'k', ...limit }] });
    await assert.rejects(opening, (error) => isRocmforgeError(error, 'INVALID_ARGUMENT'));
  }
});

test('an urgent request goes before the sequences of one that is not, which is answered all the same', async (t) => {
  const server = await tinyServer(t, { parallel: 1, keys: [{ key: 'k', mayPrioritize: true }] });
  const textsOf = async (answer: Promise<Response>) => {
    const { choices } = (await (await answer).json()) as { choices: { message: { content: string } }[] };
    return new Set(choices.map(({ message }) => message.content));
  };
  const alone = await textsOf(ask(server, { ...ASK, max_tokens: 100 }, 'k'));
  const ended: string[] = [];
  const long = textsOf(ask(server, { ...ASK, n: 64, max_tokens: 100, priority: 5 }, 'k'));
  void long.then(() => ended.push('long'));
  while ((await slotsOf(server, 'k')).length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  const urgent = ask(server, { ...ASK, max_tokens: 1 }, 'k').then(() => ended.push('urgent'));
  assert.deepEqual(await long, alone, 'its texts are the same');
  await urgent;
  assert.deepEqual(ended, ['urgent', 'long']);
});

test("no text has more tokens than the server's limit", async (t) => {
  const server = await tinyServer(t, { maxTokens: 3 });
  for (const max_tokens of [100, null]) {
    const response = await ask(server, { ...ASK, max_tokens });
    const { usage, choices } = (await response.json()) as {
      usage: { completion_tokens: number };
      choices: { finish_reason: string }[];
    };
    assert.deepEqual([usage.completion_tokens, choices[0]?.finish_reason], [3, 'length']);
  }
});
