import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { Crc32 } from '../../src/base/crc32.ts';
import { fail } from '../../src/base/errors.ts';
import { StateFolder } from '../../src/node/state-folder.ts';
import { ModelServer, type StateFiles } from '../../src/server/index.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { eventsOf, listen, post, tinyServer, tinySource } from '../support/test-server.ts';
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

/** The text of a completion in a slot, which says so, and how many tokens of the prompt had to be computed. */
async function completed(server: ModelServer, prompt: string | undefined, slot: number) {
  const how = { temperature: 0, n_predict: 8, ignore_eos: true };
  const { status, body } = await send(server, '/completion', { prompt, id_slot: slot, ...how });
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.id_slot, slot);
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
  await refused('/slots/0?action=save', { filename: 'empty.bin' }, 400, /id_slot.*an empty slot/);
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

/** A saved file with some of its bytes replaced and, as its writer would, the checksum of all. */
function forged(file: Buffer, change: (bytes: Buffer) => Uint8Array): Buffer {
  const body = change(Buffer.from(file.subarray(0, -4)));
  const crc = new Crc32();
  crc.update(body);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32LE(crc.value);
  return Buffer.concat([body, checksum]);
}

test('forged files with proper checksums, and files cut off anywhere, change nothing', async (t) => {
  const { folder, server } = await folderServer(t);
  const whole = await completed(server, FRANCE, 0);
  assert.equal((await send(server, '/slots/0?action=save', { filename: 'good' })).status, 200);
  const good = await readFile(join(folder, 'good'));
  const described = good.readUInt32LE(12);
  const description = good.subarray(20, 20 + described).toString();
  const { model, states } = JSON.parse(description) as { model: string; states: number[] };
  const put = (at: number, value: number) =>
    forged(good, (bytes) => {
      bytes.writeUInt32LE(value, at);
      return bytes;
    });
  /** The file with another description. */
  const describedAs = (text: string) =>
    forged(good, (bytes) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(Buffer.byteLength(text));
      return Buffer.concat([
        bytes.subarray(0, 12),
        length,
        bytes.subarray(16, 20),
        Buffer.from(text),
        bytes.subarray(20 + described),
      ]);
    });
  const forgeries: readonly (readonly [name: string, file: Buffer])[] = [
    ['another version', put(8, 2)],
    ['a description of 4 GB', put(12, 2 ** 32 - 1)],
    ['ids of 16 GB', put(16, 2 ** 32 - 1)],
    ['one id more', put(16, good.readUInt32LE(16) + 1)],
    ['no ids', put(16, 0)],
    ['an id that no vocabulary has', put(20 + described, 2 ** 31)],
    ['no description', describedAs('')],
    ['a description without end', describedAs('['.repeat(10_000))],
    ['a prototype', describedAs(`{"__proto__": {"model": "${model}", "states": [${states}]}}`)],
    ['sizes that are none', describedAs(JSON.stringify({ model, states: states.map(() => -1) }))],
    ['a size of 9 PB', describedAs(JSON.stringify({ model, states: [2 ** 53 - 1, ...states.slice(1)] }))],
    ['more states', describedAs(JSON.stringify({ model, states: [...states, 0] }))],
    ['bytes behind the end', Buffer.concat([good, Buffer.alloc(1)])],
    ...[0, 3, 8, 19, 23, 24, 20 + described, good.length - 4, good.length - 1].map(
      (length) => [`the first ${length} bytes`, good.subarray(0, length)] as const,
    ),
  ];
  for (const [name, file] of forgeries) {
    await writeFile(join(folder, 'forged'), file);
    const { status, body } = await send(server, '/slots/1?action=restore', { filename: 'forged' });
    assert.equal(status, 400, `${name}: ${JSON.stringify(body)}`);
  }
  await mkdir(join(folder, 'folder'));
  const { status } = await send(server, '/slots/1?action=restore', { filename: 'folder' });
  assert.ok(status >= 400, `a folder: ${status}`);
  assert.deepEqual(await completed(server, FRANCE, 0), { ...whole, computed: 1 }, 'the slot is as it was');
});

test('each key has files of its own, and sees no other’s text in a slot', async (t) => {
  const folder = join(temporaryFolder(t), 'states');
  const states = await StateFolder.open(folder);
  const server = await tinyServer(t, { parallel: 2, states, keys: ['one', 'two'] });
  const sent = async (key: string, path: string, body: object) => {
    const request = post(path, body);
    request.headers.set('authorization', `Bearer ${key}`);
    const response = await server.fetch(request);
    return { status: response.status, body: (await response.json()) as Answer['body'] };
  };
  const act = (key: string, action: string) => sent(key, `/slots/0?action=${action}`, { filename: 'same' });
  const complete = (key: string, prompt: string | undefined) =>
    sent(key, '/completion', { prompt, id_slot: 0, n_predict: 2, temperature: 0, ignore_eos: true });
  await complete('one', FRANCE);
  const foreign = await act('two', 'save');
  assert.match(foreign.body.error?.message ?? '', /an empty slot/);
  assert.deepEqual([foreign.status, (await act('two', 'erase')).body.n_erased], [400, 0]);
  const first = await act('one', 'save');
  assert.equal(first.status, 200, JSON.stringify(first.body));
  const unknown = await act('two', 'restore');
  assert.deepEqual([unknown.status, unknown.body.error?.code], [404, 'STATE_FILE_NOT_FOUND']);
  await complete('two', `${GERMANY} and more`);
  const second = await act('two', 'save');
  assert.notEqual(second.body.n_saved, first.body.n_saved);
  assert.equal((await act('one', 'restore')).body.n_restored, first.body.n_saved, 'not replaced');
  assert.equal((await act('two', 'save')).status, 400, 'what was restored is the other’s, too');
  assert.equal((await act('two', 'restore')).body.n_restored, second.body.n_saved);
  for (const name of await readdir(folder)) {
    assert.match(name, /^[0-9a-f]{32}$/, 'nothing of the key');
    const { status } = await sent('two', '/slots/0?action=restore', { filename: name });
    assert.ok(status >= 400, `${status}`);
    assert.equal((await sent('two', '/slots/0?action=restore', { filename: `${name}/same` })).status, 400);
  }
});

test('a full disk fails the saving, and leaves the file that was there', async (t) => {
  const { folder, server } = await folderServer(t);
  const broken: StateFiles = {
    open: async () => fail('STATE_FILE_NOT_FOUND', { file: 'x' }),
    write: async (_name, write) => {
      let written = 0;
      return write({
        write: async ({ length }) => {
          written += length;
          if (written > 5000) fail('WRITE_FAILED', { path: `${folder}/x`, reason: 'ENOSPC' });
        },
      });
    },
  };
  const full = await tinyServer(t, { parallel: 2, states: broken });
  for (const of of [server, full]) await completed(of, FRANCE, 0);
  const refused = await send(full, '/slots/0?action=save', { filename: 'one' });
  assert.equal(refused.status, 500);
  assert.doesNotMatch(JSON.stringify(refused.body), new RegExp(folder), 'no path of this machine');
  assert.equal((await completed(full, FRANCE, 0)).computed, 1, 'the slot is as it was');

  assert.equal((await send(server, '/slots/0?action=save', { filename: 'one' })).status, 200);
  const before = await readFile(join(folder, 'one'));
  // A folder in the place of the file: it cannot be renamed onto it.
  await mkdir(join(folder, 'two', 'in it'), { recursive: true });
  assert.equal((await send(server, '/slots/0?action=save', { filename: 'two' })).status, 500);
  assert.deepEqual((await readdir(folder)).sort(), ['one', 'two'], 'nothing unfinished is left');
  assert.deepEqual(await readFile(join(folder, 'one')), before);
});

test('an answer says which slot computed it, though the request chose none', async (t) => {
  const { server } = await folderServer(t);
  await completed(server, FRANCE, 1);
  const how = { prompt: FRANCE, n_predict: 2, ignore_eos: true };
  assert.equal((await send(server, '/completion', how)).body.id_slot, 1, 'that which holds its beginning');
  const slots = async (of: object) => {
    const response = await server.fetch(post('/completion', { ...how, ...of, stream: true }));
    return eventsOf(await response.text()).map((event) => (event as { id_slot: number }).id_slot);
  };
  assert.deepEqual((await slots({})).at(-1), 1);
  assert.deepEqual(new Set(await slots({ id_slot: 0 })), new Set([0]), 'from the first piece on');
});
