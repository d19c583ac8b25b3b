import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { HttpListener } from '../../src/node/http-listener.ts';
import { ModelServer } from '../../src/server/index.ts';
import { until } from '../support/hung.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { tinySource } from '../support/test-server.ts';

const isThere = spawnSync('haproxy', ['-v']).status === 0;
const skip = isThere ? false : 'haproxy is not installed (Debian: apt-get install haproxy)';

/** The configuration of the page, with other ports; a machine that is busy is not one that is gone. */
function configuration(ports: Readonly<Record<string, number>>): string {
  const page = readFileSync(join(PROJECT_ROOT, 'docs/haproxy.md'), 'utf8');
  const [, text] = /```haproxy\n([\s\S]*?)```/.exec(page) ?? assert.fail('the page has a configuration');
  const patient = (text ?? '').replace(/timeout check \d+s/, 'timeout check 1h');
  assert.notEqual(patient, text);
  return patient.replaceAll(/127\.0\.0\.1:(\d+)/g, (_, port: string) => `127.0.0.1:${ports[port] ?? port}`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return address !== null && typeof address === 'object' ? address.port : assert.fail('a port');
}

/** A server that tells its name as its version, on a port that it can leave and come back to. */
class Replica {
  readonly #name: string;
  readonly port: number;
  #open: { server: ModelServer; listener: HttpListener } | undefined;

  constructor(name: string, port: number) {
    this.#name = name;
    this.port = port;
  }

  async start(): Promise<void> {
    const server = new ModelServer({ models: [tinySource('tiny')], version: this.#name });
    await server.loaded;
    this.#open = { server, listener: await HttpListener.open(server.fetch, { port: this.port }) };
  }

  /** Refuses requests from here on, but still listens, as a server that is told to end. */
  async drain(): Promise<void> {
    await this.#open?.server.drain();
  }

  async stop(): Promise<void> {
    const { listener, server } = this.#open ?? {};
    this.#open = undefined;
    await listener?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  }
}

async function startProxy(t: TestContext, ports: Readonly<Record<string, number>>): Promise<ChildProcess> {
  const path = join(temporaryFolder(t), 'haproxy.cfg');
  writeFileSync(path, configuration(ports));
  const child = spawn('haproxy', ['-f', path, '-db'], { stdio: ['ignore', 'ignore', 'pipe'] });
  t.after(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  return child;
}

const SESSIONS = Array.from({ length: 40 }, (_, i) => `session ${i}`);

test(
  'sessions keep their server, and only those of one that fails move, until it is back',
  { skip },
  async (t) => {
    const [one, two] = [new Replica('one', await freePort()), new Replica('two', await freePort())];
    const port = await freePort();
    for (const replica of [one, two]) {
      await replica.start();
      t.after(() => replica.stop());
    }
    await startProxy(t, { 8000: port, 8081: one.port, 8082: two.port });
    /** The server that answers a session's question. */
    const serverOf = async (session: string): Promise<string> => {
      const response = await fetch(`http://127.0.0.1:${port}/v1/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-session-id': session },
        body: JSON.stringify({ prompt: 'hi', max_tokens: 1 }),
      });
      const body = (await response.json()) as { system_fingerprint: string };
      assert.equal(response.status, 200, JSON.stringify(body));
      return /one|two/.exec(body.system_fingerprint)?.[0] ?? assert.fail(body.system_fingerprint);
    };
    const all = async (): Promise<string[]> => {
      const servers: string[] = [];
      for (const session of SESSIONS) servers.push(await serverOf(session));
      return servers;
    };
    const ready = async () => (await fetch(`http://127.0.0.1:${port}/health`)).status === 200;
    await until(
      () => 'haproxy does not answer',
      () => ready().catch(() => false),
    );
    const first = await all();
    assert.deepEqual(new Set(first), new Set(['one', 'two']), 'both are used');
    assert.deepEqual(await all(), first);

    await two.drain();
    assert.ok(
      (await all()).every((server) => server === 'one'),
      'what a server refuses at its end is answered by the other',
    );
    await two.stop();
    assert.ok(
      (await all()).every((server) => server === 'one'),
      'no request fails because a server is gone',
    );
    await two.start();
    const moved = SESSIONS[first.indexOf('two')] ?? '';
    await until(
      () => `${moved} does not come back`,
      async () => (await serverOf(moved)) === 'two',
    );
    assert.deepEqual(await all(), first, 'as before');
  },
);
