import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { silentLogger } from '../../src/base/log.ts';
import { openCpuDevice } from '../../src/devices/cpu/index.ts';
import { loadKoffiFfi } from '../../src/node/koffi-ffi.ts';
import { openNativeKernels } from '../../src/node/native-kernels.ts';
import { kernelBytes, openCpu } from '../../src/node/open-cpu.ts';
import { nodeWorkerHost } from '../../src/node/worker-host.ts';
import { findCompiler } from '../support/emulator/build-emulator.ts';
import { nativeHere } from '../support/native-kernels.ts';

const { offers, missing } = await nativeHere();
const [best] = offers;
const needsNative = best ? {} : { skip: missing.join('; ') };

const folder = mkdtempSync(join(tmpdir(), 'rocmforge-native-'));
const kept = { CXX: process.env.CXX, XDG_CACHE_HOME: process.env.XDG_CACHE_HOME };

/** Sets a variable of the environment, or removes it. */
function setVariable(name: keyof typeof kept, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}

before(() => mkdirSync(join(folder, 'rocmforge/kernels'), { recursive: true }));
after(() => rmSync(folder, { recursive: true }));

/** Runs something with an empty cache and a given compiler. */
async function withCache<T>(compiler: string | undefined, work: () => Promise<T>): Promise<T> {
  setVariable('XDG_CACHE_HOME', folder);
  setVariable('CXX', compiler);
  try {
    return await work();
  } finally {
    for (const name of ['CXX', 'XDG_CACHE_HOME'] as const) setVariable(name, kept[name]);
  }
}

test('the device says which kernels it runs', async () => {
  await using plain = await openCpu({ threads: 1, cpuKernels: 'wasm' });
  assert.equal(plain.info.details?.kernels, 'wasm');
  await using automatic = await openCpu({ threads: 1 });
  assert.equal(automatic.info.details?.kernels, best ? `native ${best.build.variant}` : 'wasm');
});

test(
  'every variant for this processor opens',
  { skip: missing.length > 0 ? missing.join('; ') : false },
  async () => {
    for (const { build } of offers) {
      await using device = await openCpu({ threads: 1, cpuKernels: 'native', variant: build.variant });
      assert.equal(device.info.details?.kernels, `native ${build.variant}`);
    }
  },
);

test('an unknown kind of kernels is refused', async () => {
  const cpuKernels = 'fast' as 'auto';
  await assert.rejects(openCpu({ threads: 1, cpuKernels }), { code: 'INVALID_ARGUMENT' });
});

test('without a compiler, WebAssembly runs, or the device is refused where native kernels are required', async () => {
  await withCache(join(folder, 'no-compiler'), async () => {
    const reasons: unknown[] = [];
    const logger = { ...silentLogger, debug: (_: string, fields?: object) => reasons.push(fields) };
    await using device = await openCpu({ threads: 1, logger });
    assert.equal(device.info.details?.kernels, 'wasm');
    assert.match(JSON.stringify(reasons), /no-compiler|no native kernels|koffi/);
    await assert.rejects(openCpu({ threads: 1, cpuKernels: 'native' }), {
      code: /^(?:DEVICE|FFI)_UNAVAILABLE$/,
    });
  });
});

test('a kept library that is damaged is compiled again', needsNative, async () => {
  assert.ok(best);
  const from = dirname(best.build.path);
  const to = join(folder, 'rocmforge/kernels');
  // The one that asks for features: it compiles at once.
  const sizes = readdirSync(from)
    .filter((name) => name.endsWith('.so'))
    .map((name) => ({ name, contents: readFileSync(join(from, name)) }));
  for (const { name } of sizes) copyFileSync(join(from, name), join(to, name));
  const small = sizes.filter(({ contents }) => contents.includes('features'));
  for (const { name } of small) truncateSync(join(to, name), 1000);
  const offer = await withCache(kept.CXX, () => openNativeKernels({ cpuKernels: 'native' }));
  assert.equal(basename(offer?.build.path ?? ''), basename(best.build.path));
  const whole = readdirSync(to).filter((name) => statSync(join(to, name)).size > 1000);
  assert.ok(small.some(({ name }) => whole.some((other) => other.startsWith(name.slice(0, 32)))));
});

const compiler = findCompiler();

test(
  'kernels that compute something else are not used, and said',
  {
    skip: 'reason' in compiler ? compiler.reason : needsNative.skip,
  },
  async () => {
    assert.ok('command' in compiler);
    const text = join(folder, 'wrong.cc');
    writeFileSync(text, 'extern "C" void matvec_lifted_half() {}\n');
    const path = join(folder, 'wrong.so');
    assert.equal(spawnSync(compiler.command, ['-shared', '-fPIC', '-o', path, text]).status, 0);
    const entry = new URL('../../src/node/cpu-worker.js', import.meta.url);
    const warnings: string[] = [];
    const open = async (required: boolean) =>
      openCpuDevice({
        host: nodeWorkerHost(entry, 1),
        kernels: await kernelBytes(),
        native: { build: { variant: 'wrong', path }, ffi: await loadKoffiFfi(), required },
        logger: { ...silentLogger, warn: (_, fields) => void warnings.push(JSON.stringify(fields)) },
      });
    await using device = await open(false);
    assert.equal(device.info.details?.kernels, 'wasm');
    assert.match(warnings.join(), /matvec_lifted_half/);
    await assert.rejects(open(true), { code: 'DEVICE_UNAVAILABLE' });
  },
);

test('a shared WebAssembly memory stays where it is when it grows', needsNative, async () => {
  const ffi = await loadKoffiFfi();
  const memory = new WebAssembly.Memory({ initial: 4, maximum: 65535, shared: true });
  const address = ffi.addressOf(new Uint8Array(memory.buffer));
  for (const pages of [1, 256, 4096, 16384]) {
    memory.grow(pages);
    assert.equal(ffi.addressOf(new Uint8Array(memory.buffer)), address);
  }
});
