import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { examplesIn } from '../support/guide-examples.ts';
import { startHub } from '../support/hub/hub-server.ts';
import { HUNG_MS } from '../support/hung.ts';
import { packProject } from '../support/packed-project.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { tinyBytes } from '../support/tiny-model.ts';

// The commands of the guides as they are printed, in an empty folder, with the packed package; npm's registry and the hub are servers here.
const PAGES = [
  'README.md',
  'docs/choosing-a-model.md',
  'docs/troubleshooting.md',
  'docs/models-by-name.md',
  'docs/server.md',
];

const NO_CURL = spawnSync('curl', ['--version']).error !== undefined;

/** A registry that has this package; it sends those who ask for others to npm's own. */
async function startRegistry(t: TestContext, tarball: string): Promise<string> {
  const own = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8')) as { version: string };
  const { stdout } = spawnSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' });
  const server = createServer((request, response) => {
    const { url = '/' } = request;
    const here = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    if (url === '/rocmforge.tgz') return void response.end(readFileSync(tarball));
    if (url !== '/rocmforge')
      return void response.writeHead(302, { location: new URL(url, stdout.trim()).href }).end();
    const dist = { tarball: `${here}/rocmforge.tgz` };
    const name = 'rocmforge';
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        name,
        'dist-tags': { latest: own.version },
        versions: { [own.version]: { ...own, dist } },
      }),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** The commands of a page's blocks of shell, each on a line; those that install and test the clone are what runs this. */
function commandsOf(page: string): string[] {
  const text = readFileSync(join(PROJECT_ROOT, page), 'utf8');
  return examplesIn(text, 'sh')
    .flatMap((block) => block.replaceAll(/\\\n\s*/g, '').split('\n'))
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => line !== '' && !line.startsWith('npm ci'));
}

/** A folder in which commands run as a user's. */
class UsersFolder {
  readonly path: string;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #t: TestContext;
  #server: { readonly stop: () => Promise<void>; readonly address: string } | undefined;

  constructor(t: TestContext, environment: NodeJS.ProcessEnv) {
    this.#t = t;
    this.path = temporaryFolder(t);
    const path = `${join(this.path, 'node_modules/.bin')}:${process.env.PATH}`;
    this.#environment = { ...process.env, NODE_OPTIONS: '', ...environment, PATH: path };
  }

  /** Runs a command; `serve` stays until the next one, and `curl` goes there. */
  async run(command: string): Promise<void> {
    if (/--device (?:cuda|hip|webgpu)/.test(command))
      return this.#t.diagnostic(`not run without a GPU: ${command}`);
    if (/\brocmforge serve\b/.test(command)) return await this.#serve(command);
    const isCurl = command.startsWith('curl ');
    if (isCurl && NO_CURL) return this.#t.diagnostic(`not run without curl: ${command}`);
    if (isCurl && !this.#server) await this.#serve('npx rocmforge serve');
    const line = isCurl ? command.replace('127.0.0.1:8080', this.#server?.address ?? '') : command;
    const { code, output } = await this.#shell(line);
    assert.equal(code, 0, `${command}\n${output}`);
    if (isCurl) assert.doesNotMatch(output, /"error"/, command);
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = undefined;
  }

  async #serve(command: string): Promise<void> {
    await this.stop();
    const child = spawn('sh', ['-c', `exec ${command.replace(/^npx /, '')} --port 0`], {
      cwd: this.path,
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#t.after(() => child.kill('SIGKILL'));
    const ended = once(child, 'close');
    let said = '';
    child.stderr.on('data', (data) => (said += String(data)));
    const [line] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer | number];
    const address = /http:\/\/(\S+)/.exec(String(line))?.[1] ?? assert.fail(`${command}: ${String(line)}`);
    this.#server = {
      address,
      stop: async () => {
        child.kill('SIGTERM');
        assert.deepEqual(await ended, [0, null], command);
      },
    };
    const status = async () => {
      const answer = await fetch(`http://${address}/health`).catch(() => undefined);
      return answer?.status ?? assert.fail(`${command}: ${said}`);
    };
    while ((await status()) === 503) await new Promise((done) => setTimeout(done, 50));
  }

  async #shell(line: string): Promise<{ code: unknown; output: string }> {
    const child = spawn('sh', ['-c', line], {
      cwd: this.path,
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: HUNG_MS,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += String(data)));
    const [code] = (await once(child, 'close')) as [unknown];
    return { code, output };
  }
}

test('the commands of the guides run as they are printed, with the packed package in an empty folder', async (t) => {
  const small = await tinyBytes('Q8_0', [['llama.context_length', { type: 'u32', value: 16384 }]]);
  const files = { 'model-Q4_K_M.gguf': small, 'model-Q8_0.gguf': small };
  const named = ['unsloth/Qwen3-4B-Instruct-2507-GGUF', 'unsloth/Qwen3-0.6B-GGUF'];
  const hub = await startHub(t, Object.fromEntries(named.map((name) => [name, files])));
  const registry = await startRegistry(t, await packProject(temporaryFolder(t)));
  const folder = new UsersFolder(t, {
    npm_config_registry: registry,
    npm_config_cache: temporaryFolder(t),
    HF_ENDPOINT: hub.url,
    HF_HOME: temporaryFolder(t),
    XDG_CACHE_HOME: temporaryFolder(t),
    XDG_CONFIG_HOME: temporaryFolder(t),
    CXX: '/nowhere',
  });
  mkdirSync(join(folder.path, 'models'));
  for (const name of ['model.gguf', 'models/small.gguf']) writeFileSync(join(folder.path, name), small);
  await t.test('npm install rocmforge', () => folder.run('npm install rocmforge'));
  for (const page of PAGES) {
    await t.test(page, async () => {
      const commands = commandsOf(page);
      assert.ok(commands.length > 0);
      for (const command of commands) await folder.run(command);
      await folder.stop();
    });
  }
  await t.test('the examples', async () => {
    const examples = readdirSync(join(PROJECT_ROOT, 'examples')).filter((name) => name.endsWith('.mjs'));
    for (const name of examples) copyFileSync(join(PROJECT_ROOT, 'examples', name), join(folder.path, name));
    const question = 'What is the capital of France?';
    await folder.run(`echo '${question}' | node chat.mjs | grep 'capital of France is Paris'`);
    await folder.run(`echo 'Really?' | node chat.mjs && grep '${question}.*Really' talk.json`);
    await folder.run("node typed-answer.mjs | grep -E '^(Rome|Paris|Berlin), (certainly|perhaps)$'");
    await folder.run(`(echo '${question}'; echo Hi) | node batch.mjs | grep 'is Paris'`);
    await folder.run('node search.mjs | head -1 | grep Pandas');
    assert.equal(examples.length, 4, 'each is run here');
  });
});
