import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { NATIVE_FLAGS, NATIVE_TEXTS, NATIVE_VARIANTS } from '../../src/devices/cpu/index.ts';
import { findCompiler } from '../support/emulator/build-emulator.ts';
import { nativeHere } from '../support/native-kernels.ts';
import { PROJECT_ROOT } from '../support/project.ts';

const TEXTS = join(PROJECT_ROOT, 'dist/src/devices/cpu/native/kernels');
const SOURCE = join(PROJECT_ROOT, 'tests/support/tiles/tiles.cpp');

const compiler = findCompiler();
const { offers } = await nativeHere();
const hasRest = offers.some(({ build }) => build.variant === 'avx512-vnni');

function skipped(): string | false {
  if ('reason' in compiler) return compiler.reason;
  if (process.platform !== 'linux') return 'instructions are trapped on Linux alone';
  return !hasRest && 'the other instructions of these kernels need AVX-512 with VNNI';
}

test(
  'kernels with AMX compute what those of WebAssembly do, its instructions done in software',
  { skip: skipped() },
  () => {
    assert.ok('command' in compiler);
    const folder = mkdtempSync(join(tmpdir(), 'rocmforge-tiles-'));
    const variant = NATIVE_VARIANTS.find(({ name }) => name === 'avx512-amx');
    const [kernels, tiles] = [join(folder, 'kernels.so'), join(folder, 'tiles.so')];
    const run = (command: string, words: readonly string[], env = process.env) => {
      const { status, stdout, stderr } = spawnSync(command, words, { encoding: 'utf8', env });
      assert.equal(status, 0, `${stdout}${stderr}`);
      return stdout;
    };
    try {
      const texts = NATIVE_TEXTS.kernels.map((text) => join(TEXTS, text));
      run(compiler.command, [...NATIVE_FLAGS, ...(variant?.flags ?? []), '-o', kernels, ...texts]);
      run(compiler.command, [
        '-std=c++17',
        '-O2',
        '-shared',
        '-fPIC',
        '-Wall',
        '-Wextra',
        '-Werror',
        '-o',
        tiles,
        SOURCE,
      ]);
      const script = join(PROJECT_ROOT, 'dist/tests/support/tiles/run-tiles.js');
      const count = run(process.execPath, [script, kernels, tiles], { ...process.env, LD_PRELOAD: tiles });
      // A processor that has them does not trap.
      if (!offers.some(({ build }) => build.variant === 'avx512-amx')) assert.ok(Number(count) > 100, count);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
