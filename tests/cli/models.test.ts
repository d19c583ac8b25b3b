import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { COMMIT, sha256Of, startHub } from '../support/hub/hub-server.ts';
import { hubEnvironment, pullWith, randomBytes } from '../support/hub/pulling.ts';
import { type CliResult, startCliIn } from '../support/run-cli.ts';
import { tinyBytes } from '../support/tiny-model.ts';

const Q4 = randomBytes(4000, 1);
const Q8 = [randomBytes(5000, 2), randomBytes(3000, 3)] as const;

/** A cache with two quantizations of a model, one of them split, and a file of another program. */
async function start(t: TestContext) {
  const server = await startHub(t, {
    'user/tiny': {
      'tiny-Q4_0.gguf': Q4,
      'Q8_0/t-00001-of-00002.gguf': Q8[0],
      'Q8_0/t-00002-of-00002.gguf': Q8[1],
    },
    'user/real': { 'real-Q8_0.gguf': await tinyBytes('Q8_0'), 'real-F32.gguf': await tinyBytes('F32') },
  });
  const environment = hubEnvironment(t, server);
  for (const name of ['user/tiny:Q4_0', 'user/tiny:Q8_0', `${server.storageUrl}/${sha256Of(Q4)}`]) {
    await pullWith(environment, name);
  }
  const folder = join(environment.HF_HOME as string, 'hub/models--user--tiny');
  const foreign = 'f'.repeat(40);
  writeFileSync(join(folder, 'blobs', foreign), 'config');
  symlinkSync(`../../blobs/${foreign}`, join(folder, 'snapshots', COMMIT, 'config.json'));
  const run = (...args: readonly string[]): Promise<CliResult> =>
    startCliIn(t, { ...process.env, ...environment }, args).result;
  const json = async (...args: readonly string[]) => JSON.parse((await run(...args, '--json')).stdout);
  return { server, folder, foreign, run, json, url: `${server.storageUrl}/${sha256Of(Q4)}` };
}

test('models are listed, measured, verified and removed by name; what others keep there stays', async (t) => {
  const { folder, foreign, run, json, url } = await start(t);
  const { models } = await json('list');
  assert.deepEqual(
    models.map(({ model, bytes, files }: { model: string; bytes: number; files: string[] }) => [
      model,
      bytes,
      files.length,
    ]),
    [
      ['hf:user/tiny:Q4_0', 4000, 1],
      ['hf:user/tiny:Q8_0', 8000, 2],
      [url, 4000, 1],
    ],
  );
  assert.match((await run('ls')).stdout, /hf:user\/tiny:Q4_0 +3\.91 KiB/);
  const { folders } = await json('du');
  assert.equal(folders[0].model, 'hf:user/tiny');
  assert.ok(folders[0].bytes >= 12_006);
  assert.equal((await run('verify')).code, 0);

  writeFileSync(join(folder, 'blobs', sha256Of(Q8[1])), randomBytes(3000, 9));
  const damaged = await run('verify', 'user/tiny:Q8_0');
  assert.equal(damaged.code, 1);
  assert.match(
    damaged.stdout,
    /^right {4}hf:user\/tiny:Q8_0 .*\ndamaged {2}hf:user\/tiny:Q8_0 .*00002-of-00002\.gguf\n$/,
  );

  const { removed, freed } = await json('rm', 'user/tiny:Q8_0');
  assert.deepEqual({ removed, freed }, { removed: ['hf:user/tiny:Q8_0'], freed: 8000 });
  assert.deepEqual(readdirSync(join(folder, 'blobs')).sort(), [sha256Of(Q4), foreign].sort());
  assert.deepEqual(readdirSync(join(folder, 'snapshots', COMMIT)).sort(), ['config.json', 'tiny-Q4_0.gguf']);
  const wrong = await run('rm', 'user/tiny:Q4_0', 'user/tiny:Q9');
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /Q9 is not on this machine; there is hf:user\/tiny:Q4_0/);
  assert.equal((await json('rm', 'user/tiny', url)).freed, 8000);
  assert.deepEqual(readdirSync(join(folder, 'blobs')), [foreign]);
  assert.ok(!existsSync(join(folder, 'snapshots', COMMIT, 'tiny-Q4_0.gguf')));
  assert.deepEqual((await json('list')).models, []);
});

test('downloads that did not end are counted, and removed when asked', async (t) => {
  const { folder, run, json } = await start(t);
  const part = join(folder, 'blobs', `${'a'.repeat(64)}.rocmforge-part`);
  writeFileSync(part, randomBytes(9000, 4));
  writeFileSync(part.replace('-part', '-journal'), '{}\n');
  const { folders } = await json('du');
  assert.equal(folders[0].unfinished, 9000);
  const refused = await run('rm');
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /expected names, or --unfinished/);
  // Another process that is downloading it would have its claim.
  const locks = join(folder, '../.locks/models--user--tiny');
  mkdirSync(locks, { recursive: true });
  const claim = join(locks, `${'a'.repeat(64)}.elsewhere.1.x`);
  writeFileSync(claim, '');
  assert.equal((await json('rm', '--unfinished')).freed, 0);
  rmSync(claim);
  assert.equal((await json('rm', '--unfinished')).freed, 9000);
  assert.ok(!existsSync(part));
  assert.equal((await json('list')).models.length, 3);
});

test('show says which quantizations there are, which fit, and which are here', async (t) => {
  const { run, json } = await start(t);
  assert.equal((await run('pull', 'user/real:F32')).code, 0);
  const { models, device, free } = await json('show', 'user/real', '-d', 'cpu');
  assert.equal(device, 'cpu');
  const [small, large] = models;
  assert.deepEqual([small.quantization, small.recommended, small.here], ['Q8_0', true, false]);
  assert.deepEqual([large.quantization, large.recommended, large.here], ['F32', false, true]);
  assert.ok(small.memory > small.bytes && large.memory > small.memory && large.memory < free);
  assert.deepEqual([small.fits, large.fits], [true, true]);
  const text = (await run('show', 'user/real', '-d', 'cpu')).stdout;
  assert.match(text, /^Q8_0 .* yes +recommended$/m);
  const unknown = await json('show', 'user/tiny', '-d', 'cpu');
  assert.match(unknown.unknown, /tiny-Q4_0|signature|GGUF/);
  const local = await run('show', 'user/tiny', '--offline');
  assert.match(local.stdout, /^hf:user\/tiny:Q4_0 {2}3\.91 KiB\n {2}\//);
});
