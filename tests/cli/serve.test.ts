import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, copyFileSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { HUNG_MS } from '../support/hung.ts';
import { MAIN, runCli, startCli, tinyModelFile } from '../support/run-cli.ts';
import { collector, spansOf } from '../support/otlp-collector.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { unpacked } from '../support/unpacked.ts';
import { ZmtpClient } from '../support/zmtp-client.ts';

/** A server process of a tiny model, and where it listens. */
async function startServer(t: TestContext, ...flags: readonly string[]) {
  const cli = startCli(
    t,
    'serve',
    '-m',
    `tiny=${await tinyModelFile(t)}`,
    '--port',
    '0',
    '-t',
    '1',
    ...flags,
  );
  cli.process.stdin.end();
  const [line] = (await once(cli.process.stdout, 'data')) as [Buffer];
  const url = /^listening at (http:\S+)\n/.exec(line.toString())?.[1];
  assert.ok(url, line.toString());
  for (;;) {
    const health = await fetch(`${url}/health`);
    if (health.ok) return { ...cli, url };
    const { status, progress } = (await health.json()) as { status: string; progress: number };
    assert.equal(status, 'loading');
    assert.ok(progress >= 0 && progress < 1);
  }
}

const ASK = { messages: [{ role: 'user', content: 'hi' }], temperature: 0, ignore_eos: true };

function ask(url: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ ...ASK, ...body }),
    headers: { 'content-type': 'application/json', ...headers },
  });
}

test('SIGTERM lets what has begun end, and the process with it', async (t) => {
  const { url: endpoint, requests } = await collector(t);
  const { process: server, url, result } = await startServer(t, '--log-json', '--otlp-endpoint', endpoint);
  const answer = await ask(url, { stream: true, max_tokens: 200 });
  const reader = answer.body?.getReader();
  await reader?.read();
  server.kill('SIGTERM');
  let text = '';
  const decoder = new TextDecoder();
  for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
    text += decoder.decode(next.value);
  }
  assert.ok(text.endsWith('data: [DONE]\n\n'));
  const { code, stderr } = await result;
  assert.equal(code, 0, stderr);
  const lines = stderr.trim().split('\n');
  const logged = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  const request = logged.find(
    ({ msg, endpoint }) => msg === 'request' && endpoint === '/v1/chat/completions',
  );
  assert.equal(request?.generatedTokens, 200);
  assert.equal(request?.model, 'tiny');
  assert.ok(!stderr.includes('"hi"'), 'no prompt is logged');
  const spans = spansOf(requests).map(({ name }) => name);
  assert.deepEqual(spans.at(-1), 'POST /v1/chat/completions', 'the last spans are sent, too');
});

test('a key is asked for where one is set, and metrics count', async (t) => {
  const draft = ['--draft', await tinyModelFile(t), '--draft-max', '3'];
  const { process: server, url, result } = await startServer(t, '--api-key', 'secret', '-q', ...draft);
  assert.equal((await ask(url, { max_tokens: 2 })).status, 401);
  assert.equal((await ask(url, { max_tokens: 2 }, { authorization: 'Bearer wrong' })).status, 401);
  assert.equal((await ask(url, { max_tokens: 12 }, { 'x-api-key': 'secret' })).status, 200);
  const authorization = 'Bearer secret';
  const metrics = await (await fetch(`${url}/metrics`, { headers: { authorization } })).text();
  assert.match(metrics, /rocmforge_tokens_total\{model="tiny",kind="generated"\} 12\n/);
  assert.match(metrics, /rocmforge_draft_tokens_total\{model="tiny",outcome="accepted"\} [1-9]/);
  assert.match(metrics, /rocmforge_draft_tokens_total\{model="tiny",outcome="rejected"\} 0\n/);
  assert.match(metrics, /rocmforge_whole_steps\{model="tiny",state="hit"\} \d/);
  for (const state of ['used', 'free']) {
    const memory = `rocmforge_card_memory_bytes\\{model="tiny",card="0",name="[^"]+",state="${state}"\\} [1-9]`;
    assert.match(metrics, new RegExp(memory));
  }
  assert.match(
    metrics,
    /rocmforge_request_duration_seconds_count\{endpoint="\/v1\/chat\/completions",status="401"\} 2\n/,
  );
  server.kill('SIGTERM');
  assert.deepEqual(await result, { code: 0, signal: null, stdout: `listening at ${url}\n`, stderr: '' });
});

test('a model has the names, tags and sampling of the flags', async (t) => {
  const sampling = ['--temperature', '0.3', '--seed', '7', '--samplers', 'top_k;temperature'];
  const names = ['--alias', 'small,code', '--tags', 'chat'];
  const { process: server, url, result } = await startServer(t, '-q', ...names, ...sampling);
  const { data } = (await (await fetch(`${url}/v1/models`)).json()) as { data: Record<string, unknown>[] };
  const listed = data.map(({ id, aliases, tags }) => ({ id, aliases, tags }));
  assert.deepEqual(listed, [{ id: 'code', aliases: ['code', 'small'], tags: ['chat'] }]);
  assert.equal((await ask(url, { model: 'small', max_tokens: 1 })).status, 200);
  const props = await (await fetch(`${url}/props`)).text();
  assert.match(props, /"temperature":0\.3,.*"seed":7,"samplers":\["top_k","temperature"\]/);
  server.kill('SIGTERM');
  assert.equal((await result).code, 0);
});

test('several models have aliases by their names, and one model KV events', async (t) => {
  const tiny = await tinyModelFile(t);
  const twin = join(temporaryFolder(t), 'twin.gguf');
  copyFileSync(tiny, twin);
  for (const alias of ['x', 'c=x', 'tiny=twin', 'tiny=x,twin=x', 'tiny=']) {
    const refused = await runCli(t, [
      'serve',
      '-m',
      `tiny=${tiny}`,
      '-m',
      twin,
      '--port',
      '0',
      '--alias',
      alias,
    ]);
    assert.match(refused.stderr, /--alias/);
    assert.notEqual(refused.code, 0);
  }
  for (const flags of [
    ['--kv-events-topic', 'kv'],
    ['-m', twin, '--kv-events', 'tcp://127.0.0.1:0'],
    ['--kv-events', '127.0.0.1:0'],
  ]) {
    const refused = await runCli(t, ['serve', '-m', `tiny=${tiny}`, '--port', '0', ...flags]);
    assert.match(refused.stderr, /kv.events/i);
    assert.notEqual(refused.code, 0);
  }
  const { process: server, url, result } = await startServer(t, '-q', '-m', twin, '--alias', 'tiny=x,twin=y');
  const { data } = (await (await fetch(`${url}/v1/models`)).json()) as { data: Record<string, unknown>[] };
  const listed = data.map(({ id, aliases }) => [id, aliases]);
  assert.deepEqual(listed, [
    ['tiny', ['x']],
    ['twin', ['y']],
  ]);
  const answer = (await (await ask(url, { model: 'y', max_tokens: 1 })).json()) as { model: string };
  assert.match(answer.model, /^(?:y|twin)$/);
  server.kill('SIGTERM');
  assert.equal((await result).code, 0);
});

test('--kv-events publishes what the cache holds, as maps if it is told to', async (t) => {
  const tiny = `tiny=${await tinyModelFile(t)}`;
  const where = [
    '--kv-events',
    'tcp://127.0.0.1:0',
    '--kv-events-topic',
    'kv',
    '--kv-events-encoding',
    'map',
  ];
  const cli = startCli(t, 'serve', '-m', tiny, '--port', '0', '-t', '1', '--log-json', ...where);
  cli.process.stdin.end();
  let log = '';
  const [, endpoint = '', url = ''] = await new Promise<RegExpExecArray>((resolve) => {
    cli.process.stderr.on('data', (chunk: Buffer) => {
      log += chunk.toString();
      const told = /"endpoints":\["(tcp:[^"]+)"\][^]*"url":"(http:[^"]+)"/.exec(log);
      if (told) resolve(told);
    });
  });
  using client = await ZmtpClient.connect(endpoint, 'SUB');
  client.send([Buffer.from('\x01kv')]);
  await client.ping();
  const answer = await ask(url, { messages: [{ role: 'user', content: 'x'.repeat(300) }], max_tokens: 1 });
  assert.equal(answer.status, 200, await answer.text());
  // That nothing is held while the model is loaded may come before.
  let event: Record<string, unknown[]> | undefined;
  while (event?.type?.toString() !== 'BlockStored') {
    const [topic, number, batch = Buffer.alloc(0)] = await client.receive();
    assert.deepEqual([topic?.toString(), number?.length], ['kv', 8]);
    const { ts, events, data_parallel_rank: rank } = unpacked(batch) as Record<string, unknown>;
    assert.deepEqual([typeof ts, rank], ['number', 0]);
    [event] = events as Record<string, unknown[]>[];
  }
  assert.deepEqual(
    Object.keys(event),
    ['type', 'block_hashes', 'parent_block_hash', 'token_ids', 'block_size', 'lora_id', 'medium'],
    'what is null is left out where vLLM leaves it out',
  );
  const { block_hashes: hashes = [], token_ids: ids = [], block_size: size } = event;
  assert.equal(ids.length, hashes.length * Number(size));
  cli.process.kill('SIGTERM');
  await cli.result;
});

test('--profile tells of the steps of the engine when the server ends, and writes their trace', async (t) => {
  const path = join(temporaryFolder(t), 'steps.json');
  const { process: server, url, result } = await startServer(t, '-q', '--profile', path);
  assert.equal((await ask(url, { max_tokens: 12 })).status, 200);
  server.kill('SIGTERM');
  const { code, stderr } = await result;
  assert.equal(code, 0);
  const [, steps = '0'] = /^dispatch +(\d+)/m.exec(stderr) ?? [];
  assert.ok(Number(steps) >= 12, stderr);
  assert.match(stderr, /the device waited for the host \d/);
  assert.ok(readFileSync(path, 'utf8').includes('"dispatch'));
});

test('an address that is taken and a model that is none are told', async (t) => {
  const { url } = await startServer(t, '-q');
  const taken = await runCli(t, ['serve', '--port', new URL(url).port]);
  assert.equal(taken.code, 1);
  assert.match(taken.stderr, /cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE/);
  const missing = await runCli(t, ['serve', '-m', '/nowhere/model.gguf', '--port', '0', '-q']);
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /nowhere/);
});

test('what a server could not do for any request is refused when it starts', async (t) => {
  const states = join(temporaryFolder(t), 'states');
  const run = (...flags: string[]) => runCli(t, ['serve', '--port', '0', '-q', '-d', 'cpu', ...flags]);
  const ranks = await run('--gpus', '2', '--slot-save-path', states);
  assert.equal(ranks.code, 2, ranks.stderr);
  assert.match(
    ranks.stderr,
    /--slot-save-path: found a model whose layers are split, expected one device, or/,
  );
  const managed = await run('--manage-models');
  assert.equal(managed.code, 2, managed.stderr);
  assert.match(managed.stderr, /--manage-models: found no --models/);
});

test('--chat-template and --chat-template-file write what is asked over HTTP', async (t) => {
  const source =
    '{% for m in messages %}{% if m.content == "no" %}{{ raise_exception("not that") }}{% endif %}<<{{ m.content }}>>{% endfor %}';
  const path = join(temporaryFolder(t), 'own.jinja');
  writeFileSync(path, source);
  for (const flags of [
    ['--chat-template', source],
    ['--chat-template-file', path],
  ]) {
    const { process: server, url, result } = await startServer(t, '-q', ...flags);
    const answer = (await (await ask(url, { max_tokens: 1 })).json()) as { usage: { prompt_tokens: number } };
    const post = (content: string) =>
      fetch(`${url}/tokenize`, {
        method: 'POST',
        body: JSON.stringify({ content }),
        headers: { 'content-type': 'application/json' },
      });
    const { tokens } = (await (await post('<<hi>>')).json()) as { tokens: number[] };
    // With the bos token.
    assert.equal(answer.usage.prompt_tokens, tokens.length + 1);
    const refused = await ask(url, { messages: [{ role: 'user', content: 'no' }] });
    assert.equal(refused.status, 400);
    const { error } = (await refused.json()) as { error: { code: string; message: string } };
    assert.equal(error.code, 'CHAT_TEMPLATE_REJECTED');
    assert.match(error.message, /not that/);
    server.kill('SIGTERM');
    assert.equal((await result).code, 0);
  }
});

test(
  'a full disk under the log ends nobody',
  { skip: existsSync('/dev/full') ? false : 'there is no /dev/full' },
  async (t) => {
    const full = openSync('/dev/full', 'w');
    t.after(() => closeSync(full));
    const model = await tinyModelFile(t);
    const args = [MAIN, 'serve', '-m', model, '--port', '0', '-t', '1'];
    const server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', full], timeout: HUNG_MS });
    t.after(() => server.kill('SIGKILL'));
    assert.ok(server.stdout);
    const [line] = (await once(server.stdout, 'data')) as [Buffer];
    const url = /^listening at (http:\S+)\n/.exec(line.toString())?.[1] ?? '';
    for (let i = 0; i < 3; i++) assert.equal((await ask(url, { max_tokens: 2 })).status, 200);
    server.kill('SIGTERM');
    const [code] = (await once(server, 'close')) as [number];
    assert.equal(code, 0);
  },
);

test('an address for all without a key is warned of; what has begun ends with the time to drain', async (t) => {
  const {
    process: server,
    url,
    result,
  } = await startServer(t, '--host', '0.0.0.0', '--drain-seconds', '0.2');
  const answer = await ask(url.replace('0.0.0.0', '127.0.0.1'), { stream: true, max_tokens: 4000 });
  const reader = answer.body?.getReader();
  await reader?.read();
  server.kill('SIGTERM');
  const { code, stderr } = await result;
  assert.equal(code, 0, stderr);
  assert.match(stderr, /anyone who can reach this address can use the server/);
  await reader?.cancel().catch(() => {});
});
