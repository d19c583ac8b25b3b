import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { COMMIT, type HubServer, startHub } from '../support/hub/hub-server.ts';
import { hubEnvironment, NO_COMPILER } from '../support/hub/pulling.ts';
import { type CliResult, startCliIn } from '../support/run-cli.ts';
import { tinyBytes } from '../support/tiny-model.ts';

interface Machine {
  readonly server: HubServer;
  readonly home: string;
  run(...args: readonly string[]): Promise<CliResult>;
}

/** A hub with a tiny model in two quantizations, and a machine without any model. */
async function start(t: TestContext): Promise<Machine> {
  const server = await startHub(t, {
    'user/tiny': {
      'tiny-Q4_0.gguf': await tinyBytes('Q4_0'),
      'tiny-Q8_0.gguf': await tinyBytes('Q8_0'),
      'mmproj-tiny-F16.gguf': new Uint8Array(10),
    },
    'user/rwkv': { 'x-Q4_K_M.gguf': new Uint8Array(100) },
  });
  const own = hubEnvironment(t, server);
  const run = async (...args: readonly string[]) => {
    const { process: process_, result } = startCliIn(t, { ...process.env, ...own }, args);
    process_.stdin.end();
    return result;
  };
  return { server, home: own.HF_HOME as string, run };
}

const ASK = ['-p', 'hi', '-n', '4', '--raw', '--temperature', '0', '-d', 'cpu', '--ignore-end'];

test('a model that is named is pulled when it is first run, and then is here', async (t) => {
  const { server, home, run } = await start(t);
  const first = await run('run', '-m', 'hf:user/tiny:Q8_0', ...ASK, '-v');
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stderr, /pulled hf:user\/tiny:Q8_0: \d+/);
  assert.match(first.stderr, /mmproj-tiny-F16\.gguf is not pulled: only text/);
  const path = join(home, 'hub/models--user--tiny/snapshots', COMMIT, 'tiny-Q8_0.gguf');
  const local = await run('run', '-m', path, ...ASK);
  assert.equal(first.stdout, local.stdout);
  const requests = server.asked.length;
  const again = await run('run', '-m', 'hf:user/tiny', ...ASK, '--offline');
  assert.equal(again.stdout, local.stdout, again.stderr);
  assert.equal(server.asked.length, requests, 'what is here is not asked for');
});

test('pull takes the usual quantization that fits, and says where it is', async (t) => {
  const { server, run } = await start(t);
  const { code, stdout, stderr } = await run('pull', 'user/tiny', '--json', '-d', 'cpu');
  assert.equal(code, 0, stderr);
  const { model, path, files, bytes } = JSON.parse(stdout);
  assert.equal(model, 'hf:user/tiny:Q4_0');
  assert.deepEqual(files, [path]);
  assert.equal(readFileSync(path).length, bytes);
  assert.ok(
    server.asked.some(({ at, range }) => at === 'storage' && range === 'bytes=0-262143'),
    'the header was read',
  );
});

test('a model that nobody can plan is pulled by its name alone, and then refused by its content', async (t) => {
  const { run } = await start(t);
  const pulled = await run('pull', 'user/rwkv');
  assert.equal(pulled.code, 0, pulled.stderr);
  const tried = await run('run', '-m', 'hf:user/rwkv', ...ASK);
  assert.equal(tried.code, 1);
  assert.match(tried.stderr, /x-Q4_K_M\.gguf/);
});

test('a failure is said with what to do', async (t) => {
  const { server, run } = await start(t);
  const cases: [args: string[], message: RegExp][] = [
    [['pull', 'user/none'], /no such repository[\s\S]*fix: .*HF_TOKEN/],
    [['pull', 'user/tiny:Q2_K'], /no Q2_K; there is Q4_0, Q8_0/],
    [['pull', 'nothing'], /nothing does not name a model[\s\S]*fix: .*hf:user\/repo/],
    [['run', '-m', 'hf:user/tiny', '--offline', ...ASK], /not in the cache[\s\S]*--offline/],
    [['run', '-m', '/none.gguf', '--header', 'a: b', ...ASK], /--header: found \/none\.gguf, a file/],
  ];
  for (const [args, message] of cases) {
    const { code, stdout, stderr } = await run(...args);
    assert.ok(code === 1 || code === 2, args.join(' '));
    assert.equal(stdout, '');
    assert.match(stderr, message);
  }
  server.behaviour.gated = true;
  const gated = await run('pull', 'user/tiny:Q4_0');
  assert.match(gated.stderr, new RegExp(`see ${server.url}/user/tiny\nfix: .*Accept the conditions`));
});

test('Ctrl-C ends a pull, and the next one goes on', async (t) => {
  const { server, home, run } = await start(t);
  let reached = () => {};
  const sending = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const then = () => {
    server.behaviour.storageRefusals = { status: 503, count: 1000, retryAfter: '600' };
    reached();
  };
  server.behaviour.cuts = { after: 50_000, count: 1, then };
  const cache = { HF_HOME: home, XDG_CACHE_HOME: home };
  const own = { ...process.env, HF_ENDPOINT: server.url, ...cache, ...NO_COMPILER };
  const { process: process_, result } = startCliIn(t, own, ['pull', 'user/tiny:Q8_0', '--connections', '1']);
  await sending;
  process_.kill('SIGINT');
  assert.equal((await result).code, 130);
  server.behaviour.storageRefusals = undefined;
  const { code, stdout } = await run('pull', 'user/tiny:Q8_0');
  assert.equal(code, 0);
  assert.ok(existsSync(stdout.trim()));
});

test('the header of a model of the hub is read where it is', async (t) => {
  const { server, run } = await start(t);
  server.behaviour.cuts = { after: 20_000, count: 2 };
  const { code, stdout, stderr } = await run(
    'inspect',
    'hf:user/tiny:Q8_0',
    '--summary',
    '--json',
    '-d',
    'cpu',
  );
  assert.equal(code, 0, stderr);
  assert.equal(JSON.parse(stdout).architecture, 'llama');
  const [first, ...more] = server.asked.filter(({ path }) => path.includes('/resolve/'));
  assert.ok(first && more.length === 0, 'redirects are followed once');
});

test('a remote file without ranges is downloaded once, and a header goes with the request', async (t) => {
  const { run } = await start(t);
  const bytes = await tinyBytes('Q8_0');
  const seen: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/tiny.gguf`;
  const args = ['tokenize', '-m', url, '--header', 'Authorization: Bearer me', 'hi'];
  const first = await run(...args);
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stderr, /does not serve ranges/);
  const requests = seen.length;
  const again = await run(...args);
  assert.equal(again.stdout, first.stdout);
  assert.equal(seen.length, requests + 1, 'only to find that there are no ranges');
  assert.deepEqual(new Set(seen), new Set(['Bearer me']));
});
