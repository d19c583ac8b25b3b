import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { loadModelInWorker } from '../../src/node/load-model-in-worker.ts';
import { ModelServer } from '../../src/server/index.ts';
import { bodyAttacks } from '../support/body-attacks.ts';
import { endpointAttacks } from '../support/endpoint-attacks.ts';
import { BUNDLED } from '../support/run-cli.ts';

const CONTEXT = 4096;

test('what costs too much is refused by its type, or carried out, and the server answers others meanwhile', async (t) => {
  const model = await loadModelInWorker(BUNDLED, {
    device: 'cpu',
    threads: 1,
    sequences: 4,
    context: CONTEXT,
  });
  const server = new ModelServer({
    models: [{ id: 'model', created: 0, open: async () => model }],
    parallel: 4,
  });
  t.after(() => server[Symbol.asyncDispose]());
  await server.loaded;
  for (const { name, path, body, type, code } of [...bodyAttacks(CONTEXT), ...endpointAttacks('model')]) {
    const sent = { method: 'POST', headers: { 'content-type': type ?? 'application/json' }, body };
    const answered = server.fetch(new Request(`http://server${path}`, sent));
    const health = await server.fetch(new Request('http://server/health'));
    assert.equal(health.status, 200);
    const { error, ...answer } = (await (await answered).json()) as {
      error?: { reason: string; message: string } | string | null;
      reason?: string;
    };
    // Ollama's errors are texts.
    const [reason, message] =
      typeof error === 'object' ? [error?.reason, error?.message] : [answer.reason, error];
    assert.equal(reason, code, name);
    assert.ok((message?.length ?? 0) < 500, 'an error does not tell the request over again');
  }
});

test('a long conversation is written down on another thread, as it is on this one', async (t) => {
  const model = await loadModelInWorker(BUNDLED, { device: 'cpu', threads: 1, context: CONTEXT });
  t.after(() => model.dispose());
  const turns = Array.from({ length: 1000 }, (_, i) => ({
    role: i % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: `turn ${i}`,
  }));
  let isOver = false;
  const long = model.chatPrompt(turns).finally(() => {
    isOver = true;
  });
  const short = await model.chatPrompt(turns.slice(0, 2));
  assert.equal(isOver, false, 'a short one does not wait for it');
  const ids = await long;
  const of = model.tokenizer.decode(ids, { special: true });
  assert.ok(
    of.includes('turn 999') && of.startsWith(model.tokenizer.decode(short.slice(0, 8), { special: true })),
  );
  const rendered = model.chatTemplate.render(turns);
  assert.equal(of, rendered);
  await assert.rejects(
    model.chatPrompt([...turns, { role: 'user', content: 5 as unknown as string }]),
    (error) => isRocmforgeError(error, 'INVALID_ARGUMENT'),
  );
  const gone = new AbortController();
  const left = model.chatPrompt(turns, { signal: gone.signal });
  const waiting = model.chatPrompt(turns);
  setTimeout(() => gone.abort(), 1);
  await assert.rejects(left, (error) => isRocmforgeError(error, 'ABORTED'));
  assert.deepEqual(await waiting, ids, 'the next one has a new thread');
});
