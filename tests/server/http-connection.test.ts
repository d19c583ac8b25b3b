import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type TestContext, test } from 'node:test';
import { HttpListener } from '../../src/node/http-listener.ts';
import type { TextBody } from '../../src/server/index.ts';

/** A promise that is settled from outside. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** The response to a request whose body is sent by its connection. */
async function responseWith(t: TestContext, body: Partial<TextBody>): Promise<IncomingMessage> {
  const whole: TextBody = {
    next: async () => undefined,
    keepAlive: () => {},
    leave: async () => {},
    ...body,
  };
  const listener = await HttpListener.open(
    async (_, connection) => {
      connection.send(whole);
      return new Response(null, { status: 201, headers: { 'content-type': 'text/event-stream' } });
    },
    { port: 0 },
  );
  t.after(() => listener[Symbol.asyncDispose]());
  const [response] = (await once(request(listener.url).end(), 'response')) as [IncomingMessage];
  return response;
}

test('a head does not wait for the first piece, and the pieces come in order behind it', async (t) => {
  const { opened, open } = gate();
  const pieces = ['one ', 'two ', 'ж'.repeat(100_000)];
  const body = pieces.join('');
  const response = await responseWith(t, {
    next: async () => {
      await opened;
      return pieces.shift();
    },
  });
  assert.deepEqual([response.statusCode, response.headers['content-type']], [201, 'text/event-stream']);
  open();
  assert.equal(await text(response), body);
});

test('a body without pieces is an empty response', async (t) => {
  assert.equal(await text(await responseWith(t, {})), '');
});

test('a body is left when its client leaves, and asked for nothing more', async (t) => {
  const { opened: left, open: leave } = gate();
  let isLeft = false;
  let isAskedLate = false;
  const response = await responseWith(t, {
    // Only what is sent tells that a client is gone: it may have ended its side alone.
    next: async () => {
      isAskedLate ||= isLeft;
      await nextTurn();
      return 'piece';
    },
    leave: async () => {
      isLeft = true;
      leave();
    },
  });
  await once(response, 'data');
  response.destroy();
  await left;
  await nextTurn();
  assert.equal(isAskedLate, false);
});

test('a body that breaks off ends its connection, so that nobody takes it for whole', async (t) => {
  const { opened: come, open } = gate();
  const response = await responseWith(t, {
    next: async () => {
      await come;
      throw new Error('broken');
    },
  });
  open();
  await assert.rejects(text(response), { code: 'ECONNRESET' });
});
