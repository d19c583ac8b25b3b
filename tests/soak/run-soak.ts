// Mixed load on a server of the bundled model for as long as it is told: `npm run soak -- --minutes 30`. It ends with an
// error when a request is lost or answered wrongly, or when memory grows.
import assert from 'node:assert/strict';
import { parseArgs } from 'node:util';
import { openGrammarRealm } from '../../src/node/grammar-realm.ts';
import { HttpListener } from '../../src/node/http-listener.ts';
import { ModelServer } from '../../src/server/index.ts';
import { seededRandom } from '../support/random.ts';
import { bundledSource } from '../support/test-server.ts';

const WORKERS = 8;
const REPORTS = 20;
/** Memory may grow by so much from the first half to the second: caches fill, and the allocator keeps pages. */
const MOST_GROWTH = 1.1;

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } });
const end = performance.now() + Number(values.minutes) * 60_000;
const random = seededRandom(1);
const counts = new Map<string, number>();

const server = new ModelServer({
  models: [bundledSource({ sequences: 4, context: 1024 })],
  parallel: 4,
  openGrammarRealm,
});
await server.loaded;
const listener = await HttpListener.open(server.fetch, { port: 0 });

const QUESTIONS = ['What is the capital of France?', 'Tell me about rain.', 'Name three colours.', 'Hello!'];
const SCHEMA = { type: 'object', properties: { n: { type: 'integer', maximum: 99 } }, required: ['n'] };

function ask(body: object, signal?: AbortSignal): Promise<Response> {
  const messages = [{ role: 'user', content: QUESTIONS[Math.floor(random() * QUESTIONS.length)] }];
  const whole = { messages, max_tokens: 1 + Math.floor(random() * 60), ...body };
  return fetch(`${listener.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(whole),
    ...(signal ? { signal } : {}),
  });
}

/** What a client may do. Each throws when the server does not do its part. */
const DEEDS: Readonly<Record<string, () => Promise<void>>> = {
  async whole() {
    const answer = (await (await ask({})).json()) as { choices: object[] };
    assert.equal(answer.choices.length, 1);
  },
  async streamed() {
    assert.ok((await (await ask({ stream: true })).text()).endsWith('data: [DONE]\n\n'));
  },
  async several() {
    const answer = (await (await ask({ n: 3, logprobs: true, top_logprobs: 5 })).json()) as {
      choices: object[];
    };
    assert.equal(answer.choices.length, 3);
  },
  async schema() {
    const response_format = { type: 'json_schema', json_schema: { name: 'n', schema: SCHEMA } };
    const answer = (await (await ask({ response_format, max_tokens: 40 })).json()) as {
      choices: { finish_reason: string; message: { content: string } }[];
    };
    const [choice] = answer.choices;
    if (choice?.finish_reason === 'stop') assert.ok(Number.isInteger(JSON.parse(choice.message.content).n));
  },
  async left() {
    const leaving = AbortSignal.timeout(1 + Math.floor(random() * 200));
    await ask({ stream: true }, leaving)
      .then((response) => response.text())
      .catch(() => undefined);
  },
  async slow() {
    const reader = (await ask({ stream: true })).body?.getReader();
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  },
  async wrong() {
    assert.equal((await ask({ temperature: 'hot' })).status, 400);
    assert.equal(
      (await ask({ response_format: { type: 'json_schema', json_schema: { schema: { type: '?' } } } }))
        .status,
      400,
    );
  },
};

async function work(): Promise<void> {
  const names = Object.keys(DEEDS);
  while (performance.now() < end) {
    const name = names[Math.floor(random() * names.length)] as keyof typeof DEEDS;
    await DEEDS[name]?.();
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
}

const memory: number[] = [];
const measure = () => {
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  memory.push(rss);
  const done = [...counts.values()].reduce((sum, count) => sum + count, 0);
  console.log(
    `${done} requests, ${Math.round(rss / 2 ** 20)} MiB resident, ${Math.round(heapUsed / 2 ** 20)} MiB heap`,
  );
};
const timer = setInterval(measure, (Number(values.minutes) * 60_000) / REPORTS);
await Promise.all(Array.from({ length: WORKERS }, work));
clearInterval(timer);
await server.drain();
measure();
console.log(Object.fromEntries(counts));
await listener[Symbol.asyncDispose]();
await server[Symbol.asyncDispose]();
// Pages that the system takes back when others want them come again: the least tells nothing, the most does.
const half = memory.length >> 1;
const most = (of: readonly number[]) => Math.max(...of);
const growth = most(memory.slice(half)) / most(memory.slice(0, half));
console.log(`most memory in the second half: ${growth.toFixed(3)} of that in the first`);
assert.ok(growth < MOST_GROWTH, 'memory stays flat');
