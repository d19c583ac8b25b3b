import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { StateFolder } from '../../src/node/state-folder.ts';
import { ModelServer } from '../../src/server/index.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { listen, post, tinyServer, tinySource } from '../support/test-server.ts';
import { thinkingSource } from '../support/thinking-model.ts';

/** Longer than a block of the cache, and different in its second half. */
const [FRANCE, GERMANY] = ['France', 'Germany'].map(
  (land) => `${'The capital of a land is a town. '.repeat(2)}${land}`,
);

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>> & { readonly error?: { code: string; message: string } };
}

async function send(server: ModelServer, path: string, body: object): Promise<Answer> {
  const response = await server.fetch(post(path, body));
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

async function folderServer(t: TestContext): Promise<{ folder: string; server: ModelServer }> {
  const folder = join(temporaryFolder(t), 'states');
  const server = await tinyServer(t, { parallel: 2, states: await StateFolder.open(folder) });
  return { folder, server };
}

/** The text of a completion in a slot, and how many tokens of the prompt had to be computed. */
async function completed(server: ModelServer, prompt: string | undefined, slot: number) {
  const how = { temperature: 0, n_predict: 8, ignore_eos: true };
  const { status, body } = await send(server, '/completion', { prompt, id_slot: slot, ...how });
  assert.equal(status, 200, JSON.stringify(body));
  const {
    content,
    timings,
    tokens_evaluated: tokens,
  } = body as unknown as {
    content: string;
    timings: { prompt_n: number };
    tokens_evaluated: number;
  };
  return { content, computed: timings.prompt_n, tokens };
}

test('a slot is saved, restored into another one and erased', async (t) => {
  const { folder, server } = await folderServer(t);
  const first = await completed(server, FRANCE, 1);
  assert.equal(first.computed, first.tokens);
  const saved = await send(server, '/slots/1?action=save', { filename: 'one.bin' });
  assert.deepEqual([saved.status, saved.body.n_saved], [200, first.tokens + 7], JSON.stringify(saved.body));
  assert.deepEqual(await readdir(folder), ['one.bin']);
  assert.equal(saved.body.n_written, (await readFile(join(folder, 'one.bin'))).length);

  const second = await completed(server, GERMANY, 1);
  assert.ok(second.computed > 0 && second.computed < 20, `${second.computed} tokens differ`);
  for (const slot of [0, 1]) await send(server, `/slots/${slot}?action=erase`, {});
  assert.equal((await completed(server, GERMANY, 1)).computed, second.tokens, 'nothing is left of it');
  const restored = await send(server, '/slots/0?action=restore', { filename: 'one.bin' });
  assert.equal(restored.status, 200, JSON.stringify(restored.body));
  assert.deepEqual(
    [restored.body.n_restored, restored.body.n_read],
    [saved.body.n_saved, saved.body.n_written],
  );
  const again = await completed(server, FRANCE, 0);
  assert.deepEqual([again.content, again.computed], [first.content, 1]);
  assert.deepEqual(
    await completed(server, GERMANY, 1),
    { ...second, computed: 1 },
    'the other slot is as it was',
  );

  const url = await listen(t, server);
  const erased = await fetch(`${url}/slots/0?action=erase`, { method: 'POST' });
  assert.equal(erased.status, 200, 'without a body');
  const elsewhere = { method: 'POST', headers: { origin: 'http://example.com' } };
  const foreign = await server.fetch(new Request('http://server/slots/0?action=erase', elsewhere));
  assert.equal(foreign.status, 403, 'a page of another origin may not');
});

test('files of other models, damaged files and names that are paths are refused', async (t) => {
  const { folder, server } = await folderServer(t);
  const refused = async (path: string, body: object, status: number, message: RegExp) => {
    const answer = await send(server, path, body);
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    assert.match(answer.body.error?.message ?? '', message);
    assert.doesNotMatch(answer.body.error?.message ?? '', new RegExp(folder), 'no path of this machine');
  };
  for (const filename of [
    '../one',
    'a/b',
    '/etc/passwd',
    '..',
    '.hidden',
    'a\\b',
    'a\0b',
    'a.',
    '',
    'x'.repeat(200),
  ]) {
    await refused('/slots/0?action=save', { filename }, 400, /filename/);
    await refused('/slots/0?action=restore', { filename }, 400, /filename/);
  }
  await refused('/slots/0?action=save', {}, 400, /filename/);
  await refused('/slots/0?action=save', { filename: 'empty.bin' }, 400, /id_slot.*0, which is empty/);
  await refused('/slots/2?action=save', { filename: 'one.bin' }, 400, /id_slot.*from 0 to 1/);
  await refused('/slots/x?action=erase', {}, 400, /id_slot/);
  await refused('/slots/0?action=copy', { filename: 'one.bin' }, 400, /action/);
  await refused('/slots/0?action=restore', { filename: 'none.bin' }, 404, /none\.bin/);
  assert.deepEqual(await readdir(folder), []);

  await completed(server, FRANCE, 0);
  await send(server, '/slots/0?action=save', { filename: 'one.bin' });
  const whole = await readFile(join(folder, 'one.bin'));
  const changed = (at: number) => Uint8Array.from(whole, (byte, i) => (i === at ? byte ^ 1 : byte));
  const cases: readonly [Uint8Array, RegExp][] = [
    [whole.subarray(0, 10), /10 bytes/],
    [whole.subarray(0, -1), /bytes, expected/],
    [Buffer.concat([whole, Buffer.of(0)]), /bytes, expected/],
    [changed(0), /beginning/],
    [changed(8), /version/],
    [changed(15), /description/],
    [changed(19), /context|positions|tokens/],
    [changed(34), /model/],
    [changed(whole.length - 100), /damaged/],
    [changed(whole.length - 1), /damaged/],
  ];
  for (const [bytes, message] of cases) {
    await writeFile(join(folder, 'bad.bin'), bytes);
    await refused('/slots/1?action=restore', { filename: 'bad.bin' }, 400, message);
  }
  assert.equal((await completed(server, FRANCE, 0)).computed, 1, 'what was there is left alone');

  const states = await StateFolder.open(folder);
  const models = [thinkingSource(), tinySource('f32', { cacheType: 'f32' })];
  const other = new ModelServer({ models, maxModels: 2, states });
  t.after(() => other[Symbol.asyncDispose]());
  for (const [model, message] of [
    ['thinking', /a state of model/],
    ['f32', /states of/],
  ] as const) {
    const answer = await send(other, '/slots/0?action=restore', { model, filename: 'one.bin' });
    assert.deepEqual([answer.status, answer.body.error?.code], [400, 'STATE_INVALID']);
    assert.match(answer.body.error?.message ?? '', message);
  }
  const without = await tinyServer(t);
  const disabled = await send(without, '/slots/0?action=save', { filename: 'one.bin' });
  assert.deepEqual([disabled.status, disabled.body.error?.code], [501, 'FEATURE_DISABLED']);
});

test('a request waits for the slot that it names while others run in other slots', async (t) => {
  const server = await tinyServer(t, { parallel: 2 });
  const prompt = (text: string) => ({ prompt: text, temperature: 0, n_predict: 30, ignore_eos: true });
  const answers = ['one', 'two', 'three'].map((text) =>
    send(server, '/completion', { ...prompt(text), id_slot: 1 }),
  );
  const free = send(server, '/completion', prompt('four'));
  for (const answer of await Promise.all([...answers, free])) assert.equal(answer.status, 200);
  const beyond = await send(server, '/completion', { ...prompt('five'), id_slot: 2 });
  assert.equal(beyond.status, 400);
  assert.match(beyond.body.error?.message ?? '', /id_slot.*from 0 to 1/);
});
