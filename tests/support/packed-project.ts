import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { PROJECT_ROOT } from './project.ts';
import { type Ending, temporaryFolder } from './temporary.ts';

const execute = promisify(execFile);

/** Longer than any step takes on a busy machine: installing, bundling. */
const HUNG_MS = 600_000;

/** Packs the project as it would be published; the tarball's path. */
export async function packProject(folder: string): Promise<string> {
  const command = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  const { stdout } = await execute('npm', command, {
    cwd: PROJECT_ROOT,
    maxBuffer: 64 << 20,
    timeout: HUNG_MS,
  });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  return join(folder, filename);
}

/**
 * Unpacks the packed package into a folder's `node_modules`, with links beside it to what is installed for the project: as if the package
 * and all these had been installed there, without npm.
 */
export async function unpackProject(folder: string): Promise<void> {
  const modules = join(folder, 'node_modules');
  const own = join(modules, 'rocmforge');
  mkdirSync(own, { recursive: true });
  const tarball = await packProject(folder);
  await execute('tar', ['-xzf', tarball, '-C', own, '--strip-components=1']);
  const installed = join(PROJECT_ROOT, 'node_modules');
  for (const name of readdirSync(installed).filter((each) => !each.startsWith('.')))
    symlinkSync(join(installed, name), join(modules, name));
}

/** What a command wrote and returned. */
export interface Finished {
  readonly code: number;
  /** Standard output and standard error. */
  readonly text: string;
}

/** A folder outside the project into which the packed package and others are installed from npm, as a user would. */
export class PackedProject {
  /** What commands find in their environment besides. */
  readonly variables: NodeJS.ProcessEnv = {};

  private constructor(readonly folder: string) {}

  static async create(t: Ending, packages: readonly string[]): Promise<PackedProject> {
    const folder = temporaryFolder(t);
    return await PackedProject.#with(folder, [await packProject(folder), ...packages]);
  }

  /** One into which nothing else is installed than these packages and what they depend on. */
  static async of(t: Ending, packages: readonly string[]): Promise<PackedProject> {
    return await PackedProject.#with(temporaryFolder(t), packages);
  }

  static async #with(folder: string, packages: readonly string[]): Promise<PackedProject> {
    const project = new PackedProject(folder);
    project.write('package.json', JSON.stringify({ name: 'program', private: true, type: 'module' }));
    const words = ['install', '--no-audit', '--no-fund', ...packages];
    const { code, text } = await project.run('npm', words);
    if (code !== 0) throw new Error(`npm install: ${text}`);
    return project;
  }

  write(name: string, text: string): void {
    mkdirSync(dirname(join(this.folder, name)), { recursive: true });
    writeFileSync(join(this.folder, name), text);
  }

  /** The environment of commands. */
  get environment(): NodeJS.ProcessEnv {
    const path = `${join(this.folder, 'node_modules/.bin')}:${process.env.PATH}`;
    const quiet = { NODE_OPTIONS: '', CI: '1', NEXT_TELEMETRY_DISABLED: '1' };
    return { ...process.env, PATH: path, ...quiet, ...this.variables };
  }

  /** Starts a server, waits until it prints an address, asks it by `ask`, and ends it. Throws what it printed if it ends before. */
  async serving(
    command: string,
    args: readonly string[],
    ask: (address: string) => Promise<void>,
  ): Promise<Finished> {
    const child = spawn(command, [...args], {
      cwd: this.folder,
      env: this.environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: HUNG_MS,
      killSignal: 'SIGKILL',
    });
    const closed = once(child, 'close') as Promise<[code: number | null, signal: string | null]>;
    let text = '';
    const listening = new Promise<string>((resolve) => {
      const said = (data: Buffer) => {
        text += data.toString();
        const [address] = /http:\/\/(?:127\.0\.0\.1|localhost):\d+/.exec(text) ?? [];
        if (address !== undefined) resolve(address);
      };
      child.stdout.on('data', said);
      child.stderr.on('data', said);
    });
    try {
      const address = await Promise.race([listening, closed]);
      if (typeof address !== 'string') throw new Error(`${command} ended: ${text}`);
      await ask(address);
    } finally {
      child.kill('SIGTERM');
      await closed;
    }
    const [code, signal] = await closed;
    return { code: code ?? -1, text: `${text}${signal ?? ''}` };
  }

  /** Runs a command, by its path or the name of one that a package brought. */
  async run(command: string, args: readonly string[]): Promise<Finished> {
    const options = { cwd: this.folder, env: this.environment, maxBuffer: 64 << 20, timeout: HUNG_MS };
    try {
      const { stdout, stderr } = await execute(command, [...args], options);
      return { code: 0, text: stdout + stderr };
    } catch (error) {
      const {
        code,
        stdout = '',
        stderr = '',
      } = error as { code?: unknown; stdout?: string; stderr?: string };
      return { code: typeof code === 'number' ? code : 1, text: `${stdout}${stderr}${String(error)}` };
    }
  }
}

/** Asks the command line's server a question over HTTP, once its model is there; the body of its answer. */
export async function askServer(address: string, question: string): Promise<string> {
  // It listens before its model is there.
  while ((await fetch(`${address}/health`)).status === 503) await setTimeout(20);
  const response = await fetch(`${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: question }], max_tokens: 12 }),
  });
  return response.text();
}
