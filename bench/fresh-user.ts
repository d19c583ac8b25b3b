// How long a fresh user waits: the packed package installed in an empty folder, with npm's cache empty, and then the first answer of the
// bundled model. `npm run bench:fresh-user`. Where the seconds go is told by the same without the optional packages, with npm's cache
// filled, and by the size of each package; a first answer is beside a second one and beside Node's own start.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { packProject } from '../tests/support/packed-project.ts';

const run = promisify(execFile);

const QUESTION = 'What is the capital of France?';
const LARGEST = 5;

/** Seconds that a command takes; rejects when it fails. */
async function secondsOf(command: string, args: readonly string[], folder: string): Promise<number> {
  const begin = performance.now();
  const env = { ...process.env, NODE_OPTIONS: '', XDG_CACHE_HOME: join(folder, 'cache') };
  await run(command, [...args], { cwd: folder, env, maxBuffer: 64 << 20 });
  return (performance.now() - begin) / 1000;
}

function bytesBelow(folder: string): number {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

/** The largest packages of a folder, in MB. */
function largestPackages(folder: string): string {
  const modules = join(folder, 'node_modules');
  const sizes = readdirSync(modules)
    .filter((name) => !name.startsWith('.'))
    .map((name) => [name, bytesBelow(join(modules, name))] as const);
  const largest = sizes.sort(([, a], [, b]) => b - a).slice(0, LARGEST);
  return largest.map(([name, bytes]) => `${name} ${(bytes / 1e6).toFixed(1)}`).join(', ');
}

async function measure(work: string): Promise<void> {
  const tarball = await packProject(work);
  const install = async (name: string, cache: string, more: readonly string[] = []) => {
    const folder = join(work, name);
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
    const words = ['install', '--no-audit', '--no-fund', '--cache', join(work, cache), ...more, tarball];
    return { folder, seconds: await secondsOf('npm', words, folder) };
  };
  const fresh = await install('fresh', 'cache');
  const again = await install('again', 'cache');
  const lean = await install('lean', 'lean-cache', ['--omit=optional']);
  const answer = [
    join('node_modules', 'rocmforge/dist/src/cli/rocmforge.cjs'),
    'run',
    '--device',
    'cpu',
    QUESTION,
  ];
  const first = await secondsOf(process.execPath, answer, fresh.folder);
  const second = await secondsOf(process.execPath, answer, fresh.folder);
  const node = await secondsOf(process.execPath, ['-e', '0'], fresh.folder);
  const { model = 'unknown processor' } = cpus()[0] ?? {};
  console.log(`${cpus().length} x ${model}, Node ${process.version}, load ${loadavg()[0]?.toFixed(1)}`);
  const row = (name: string, seconds: number, base: number) =>
    console.log(`${name.padEnd(34)}${seconds.toFixed(2).padStart(7)} s  ${(seconds / base).toFixed(2)}`);
  row('npm install', fresh.seconds, fresh.seconds);
  row('with npm’s cache filled', again.seconds, fresh.seconds);
  row('--omit=optional', lean.seconds, fresh.seconds);
  row('first answer', first, first);
  row('second answer', second, first);
  row('Node alone', node, first);
  console.log(`largest packages, MB: ${largestPackages(fresh.folder)}`);
}

/** Removes a folder into which a compiler that was left behind may still write: what the first answer started. */
async function removeAtLast(folder: string): Promise<void> {
  const until = performance.now() + 60_000;
  for (;;) {
    try {
      return rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY' || performance.now() > until) throw error;
      await setTimeout(500);
    }
  }
}

const work = mkdtempSync(join(tmpdir(), 'rocmforge-fresh-'));
try {
  await measure(work);
} finally {
  await removeAtLast(work);
}
