import assert from 'node:assert/strict';
import { copyFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { createLogger } from '../../src/node/logger.ts';
import { modelFilesIn, servedModels } from '../../src/node/model-files.ts';
import type { RemoteModel } from '../../src/index.ts';
import { ModelServer } from '../../src/server/index.ts';
import { BUNDLED } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { post } from '../support/test-server.ts';

interface Listed {
  readonly id: string;
  readonly state: string;
  readonly error?: string;
}

async function listed(server: ModelServer): Promise<string[]> {
  const response = await server.fetch(new Request('http://server/v1/models'));
  const { data } = (await response.json()) as { data: Listed[] };
  return data.map(({ id, state, error }) => [id, state, error].filter(Boolean).join(' '));
}

test('a folder with a broken model serves the others, finds what comes, and tells nobody where it is', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'a-broken.gguf'), 'no model');
  copyFileSync(BUNDLED, join(folder, 'b-good.gguf'));
  const lines: string[] = [];
  const logger = createLogger({ level: 'warn', json: true, write: (line) => void lines.push(line) });
  const discover = async () =>
    servedModels(await modelFilesIn(folder), { device: 'cpu', threads: 1, context: 256 });
  const server = new ModelServer({ models: await discover(), discover, logger });
  t.after(() => server[Symbol.asyncDispose]());
  await server.loaded;
  assert.equal((await server.fetch(new Request('http://server/health'))).status, 200);
  assert.deepEqual(await listed(server), ['a-broken failed GGUF_MAGIC', 'b-good ready']);
  const ask = async (model?: string) => {
    const response = await server.fetch(post('/v1/completions', { model, prompt: 'hi', max_tokens: 1 }));
    return { status: response.status, body: await response.text() };
  };
  assert.match((await ask()).body, /"model":"b-good"/, 'the first that works answers who names none');
  const broken = await ask('a-broken');
  assert.equal(broken.status, 503);
  assert.match(broken.body, /MODEL_NOT_LOADED/);
  assert.ok(!broken.body.includes(folder));
  assert.ok(
    lines.some((line) => line.includes('GGUF_MAGIC') && line.includes('a-broken')),
    'the log says why',
  );
  copyFileSync(BUNDLED, join(folder, 'c-new.gguf'));
  assert.match((await ask('c-new')).body, /"model":"c-new"/, 'a new file is found by its name');
  copyFileSync(BUNDLED, join(folder, 'a-broken.gguf'));
  utimesSync(join(folder, 'a-broken.gguf'), 1, 1);
  rmSync(join(folder, 'b-good.gguf'));
  assert.deepEqual(await listed(server), ['a-broken unloaded', 'c-new ready']);
  assert.match((await ask('a-broken')).body, /"model":"a-broken"/, 'a file that was mended is tried again');
});

test('where no model can be loaded, the server says what is wrong with the first', async (t) => {
  const folder = temporaryFolder(t);
  for (const name of ['a', 'b']) writeFileSync(join(folder, `${name}.gguf`), 'no model');
  const models = await servedModels(await modelFilesIn(folder), { device: 'cpu' });
  const server = new ModelServer({ models });
  t.after(() => server[Symbol.asyncDispose]());
  await assert.rejects(server.loaded, (error) => isRocmforgeError(error, 'GGUF_MAGIC'));
});

test('a model takes the memory that was planned for it on another thread', async () => {
  const [served] = await servedModels([BUNDLED], { device: 'cpu', threads: 1, context: 256, sequences: 2 });
  const { signal } = new AbortController();
  const planned = await served?.memory?.(signal);
  const model = await served?.open({ signal, onProgress: () => {} });
  await using opened = model as RemoteModel;
  assert.equal(planned, opened.fit.total);
  const [broken] = await servedModels([import.meta.filename], { device: 'cpu' });
  await assert.rejects(broken?.memory?.(signal) ?? Promise.resolve(), { code: 'GGUF_MAGIC' });
});
