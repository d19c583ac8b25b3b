import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { mutatedBody } from '../support/mutated-body.ts';
import { keepingDeeds } from './keeping-deeds.ts';

/** What clients do to a server. Each rejects when the server does not do its part. */
export type Deeds = Readonly<Record<string, () => Promise<void>>>;

const QUESTIONS = ['What is the capital of France?', 'Tell me about rain.', 'Name three colours.', 'Hello!'];
const SCHEMA = { type: 'object', properties: { n: { type: 'integer', maximum: 99 } }, required: ['n'] };
const CHAT = '/v1/chat/completions';
const JSON_HEADERS = { 'content-type': 'application/json' };
const MEGABYTE = 2 ** 20;

interface Answer {
  readonly choices: readonly { finish_reason: string; message: { content: string } }[];
}

/** The deeds against the server at `url`. */
export function deedsAgainst(url: string, random: () => number): Deeds {
  const below = (count: number) => Math.floor(random() * count);
  const ask = (body: object, signal?: AbortSignal): Promise<Response> => {
    const messages = [{ role: 'user', content: QUESTIONS[below(QUESTIONS.length)] }];
    const whole = JSON.stringify({ messages, max_tokens: 1 + below(60), ...body });
    return fetch(url + CHAT, {
      method: 'POST',
      headers: JSON_HEADERS,
      body: whole,
      ...(signal ? { signal } : {}),
    });
  };
  const answerTo = async (body: object) => (await (await ask(body)).json()) as Answer;
  return {
    ...asking(ask, answerTo, below),
    ...spoiling(url, ask, { random, below }),
    ...keepingDeeds(url, below),
  };
}

function asking(
  ask: (body: object) => Promise<Response>,
  answerTo: (body: object) => Promise<Answer>,
  below: (count: number) => number,
): Deeds {
  return {
    async whole() {
      assert.equal((await answerTo({})).choices.length, 1);
    },
    async streamed() {
      assert.ok((await (await ask({ stream: true })).text()).endsWith('data: [DONE]\n\n'));
    },
    async several() {
      assert.equal((await answerTo({ n: 3, logprobs: true, top_logprobs: 5 })).choices.length, 3);
    },
    async long() {
      const content = Array.from({ length: 20 + below(300) }, (_, i) => `word${i}`).join(' ');
      const messages = [{ role: 'user', content }];
      assert.equal((await answerTo({ messages, max_tokens: 4 })).choices.length, 1);
    },
    async schema() {
      const response_format = { type: 'json_schema', json_schema: { name: 'n', schema: SCHEMA } };
      const [choice] = (await answerTo({ response_format, max_tokens: 40 })).choices;
      if (choice?.finish_reason === 'stop') assert.ok(Number.isInteger(JSON.parse(choice.message.content).n));
    },
    async slow() {
      const reader = (await ask({ stream: true })).body?.getReader();
      for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
  };
}

function spoiling(
  url: string,
  ask: (body: object, signal?: AbortSignal) => Promise<Response>,
  { random, below }: { random: () => number; below: (count: number) => number },
): Deeds {
  const port = Number(new URL(url).port);
  return {
    async left() {
      const leaving = AbortSignal.timeout(1 + below(200));
      await ask({ stream: true }, leaving)
        .then((response) => response.text())
        .catch(() => undefined);
    },
    async vanished() {
      const body = JSON.stringify({
        messages: [{ role: 'user', content: 'x' }],
        max_tokens: 50,
        stream: true,
      });
      const head = `POST ${CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write(head + (random() < 0.3 ? body.slice(0, 10) : body));
      await new Promise((resolve) => setTimeout(resolve, below(100)));
      socket.destroy();
    },
    async wrong() {
      assert.equal((await ask({ temperature: 'hot' })).status, 400);
      const response_format = { type: 'json_schema', json_schema: { schema: { type: '?' } } };
      assert.equal((await ask({ response_format })).status, 400);
    },
    async mutated() {
      for (let i = 0; i < 30; i++) {
        const { path, body } = mutatedBody(random);
        // Some of them ask for all that the context holds.
        const signal = AbortSignal.timeout(1000);
        const response = await fetch(url + path, {
          method: 'POST',
          headers: JSON_HEADERS,
          body,
          signal,
        }).catch(() => undefined);
        const answer = await response?.text().catch(() => '');
        assert.ok((response?.status ?? 0) < 500, `${path} ${body}\n${response?.status} ${answer}`);
      }
    },
    async large() {
      const init = { method: 'POST', headers: JSON_HEADERS, body: new Uint8Array(100 * MEGABYTE) };
      // The server closes the connection while the client still sends: some see the answer, others the end.
      const refused = await fetch(url + CHAT, init).catch(() => undefined);
      if (refused) assert.equal(refused.status, 413);
    },
    async garbage() {
      const socket = connect(port, '127.0.0.1');
      let answers = '';
      socket.on('data', (chunk: Buffer) => {
        answers += chunk.toString();
      });
      socket.write('GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n');
      // Behind an answer that is still on its way, garbage ends the connection.
      while (!/\}(?:\r\n0\r\n\r\n)?$/.test(answers)) await once(socket, 'data');
      socket.write('\u0000\u0001 garbage \r\n\r\n');
      await once(socket, 'close');
      assert.match(answers, /^HTTP\/1\.1 200 [^]*HTTP\/1\.1 400 /);
    },
  };
}
