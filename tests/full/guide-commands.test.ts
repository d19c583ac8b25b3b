import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { CHECKPOINT_TEXT, writeCheckpoint } from '../support/write-checkpoint.ts';
import { writeControl } from '../support/control-vectors.ts';
import { examplesOf, pagesRunBy } from '../support/guide-examples.ts';
import { startHub } from '../support/hub/hub-server.ts';
import { HUNG_MS } from '../support/hung.ts';
import { packProject } from '../support/packed-project.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { TINY, tinyBytes } from '../support/tiny-model.ts';

// The commands of the guides as they are printed, in an empty folder, with the packed package; npm's registry and the hub are servers here.
const PAGES = pagesRunBy('full/guide-commands', 'sh');

/** What has to come of a page's commands: given what each has printed, and the folder. */
const RESULTS: Readonly<Record<string, (printed: readonly string[], folder: string) => void>> = {
  'docs/cli.md': (printed, folder) => {
    assert.match(printed[0] ?? '', /Paris/);
    assert.match(readFileSync(join(folder, 'answer.txt'), 'utf8'), /\S/);
    const json = printed.find((text) => text.includes('"generatedTokens"')) ?? assert.fail('no JSON');
    const { generatedTokens } = JSON.parse(json) as { generatedTokens: number };
    assert.ok(generatedTokens <= 16);
    const settings = printed.find((text) => text.includes('config file:'));
    assert.match(settings ?? '', /^max-tokens +run +8 +the config file$/m);
  },
};

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
  return examplesOf(page, 'sh')
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

  /** Runs a command and gives what it prints; `serve` stays until the next one, and `curl` goes there. */
  async run(command: string): Promise<string> {
    if (/--device (?:cuda|hip|webgpu)/.test(command)) return this.#leaveOut(command, 'a GPU');
    if (/\brocmforge serve\b/.test(command)) return await this.#serve(command);
    const isCurl = command.startsWith('curl ');
    if (isCurl && NO_CURL) return this.#leaveOut(command, 'curl');
    if (isCurl && !this.#server) await this.#serve('npx rocmforge serve');
    const line = isCurl ? command.replace('127.0.0.1:8080', this.#server?.address ?? '') : command;
    const { code, stdout, stderr } = await this.#shell(line);
    assert.equal(code, 0, `${command}\n${stdout}${stderr}`);
    if (isCurl) assert.doesNotMatch(stdout, /"error"/, command);
    return stdout;
  }

  #leaveOut(command: string, without: string): string {
    this.#t.diagnostic(`not run without ${without}: ${command}`);
    return '';
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = undefined;
  }

  async #serve(command: string): Promise<string> {
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
    return String(line);
  }

  async #shell(line: string): Promise<{ code: unknown; stdout: string; stderr: string }> {
    const child = spawn('sh', ['-c', line], {
      cwd: this.path,
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: HUNG_MS,
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (data) => (stdout += String(data)));
    child.stderr.on('data', (data) => (stderr += String(data)));
    const [code] = (await once(child, 'close')) as [unknown];
    return { code, stdout, stderr };
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
  await t.test('npm install rocmforge', async () => void (await folder.run('npm install rocmforge')));
  await t.test('files that the guides name', async () => {
    renameSync(writeCheckpoint(folder.path, 'llama'), join(folder.path, 'Qwen3-0.6B'));
    writeFileSync(join(folder.path, 'calibration.txt'), CHECKPOINT_TEXT.repeat(10));
    for (const [seed, name] of ['happy', 'formal'].entries())
      await writeControl(join(folder.path, `${name}.gguf`), TINY.width, seed);
    await folder.run('rocmforge split model.gguf --max-size 50KB');
  });
  for (const page of PAGES) {
    await t.test(page, async () => {
      const commands = commandsOf(page);
      assert.ok(commands.length > 0);
      const printed: string[] = [];
      for (const command of commands) printed.push(await folder.run(command));
      await folder.stop();
      RESULTS[page]?.(printed, folder.path);
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
