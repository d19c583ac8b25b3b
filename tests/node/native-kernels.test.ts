import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
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
import { type NativeBuild, openCpuDevice } from '../../src/devices/cpu/index.ts';
import { Q4_0 } from '../../src/formats/index.ts';
import { loadKoffiFfi } from '../../src/node/koffi-ffi.ts';
import { buildNativeKernels } from '../../src/node/native-kernels.ts';
import { kernelBytes, openCpu } from '../../src/node/open-cpu.ts';
import { nodeWorkerHost } from '../../src/node/worker-host.ts';
import { type GraphBuilder, matmul } from '../../src/ops/index.ts';
import { caseData } from '../support/contract/case-data.ts';
import { plainBatch } from '../support/contract/ragged-batch.ts';
import { type CaseRun, runCase } from '../support/contract/run-case.ts';
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

/** Runs something with a cache of its own and a given compiler. */
async function withCache<T>(
  compiler: string | undefined,
  work: () => Promise<T>,
  cache = folder,
): Promise<T> {
  setVariable('XDG_CACHE_HOME', cache);
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

test('every variant for this processor opens', needsNative, async () => {
  for (const { build } of offers) {
    await using device = await openCpu({ threads: 1, cpuKernels: 'native', variant: build.variant });
    assert.equal(device.info.details?.kernels, `native ${build.variant}`);
  }
});

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

test(
  'kernels that are not there yet are compiled by another process while WebAssembly runs',
  needsNative,
  async () => {
    assert.ok(best);
    const cache = join(folder, 'other');
    const to = join(cache, 'rocmforge/kernels');
    mkdirSync(to, { recursive: true });
    // All that is missing is the library that asks for features: it compiles at once.
    copyFileSync(best.build.path, join(to, basename(best.build.path)));
    await withCache(
      kept.CXX,
      async () => {
        const said: string[] = [];
        const logger = { ...silentLogger, debug: (message: string) => void said.push(message) };
        await using device = await openCpu({ threads: 1, logger });
        assert.equal(device.info.details?.kernels, 'wasm until native ones are compiled');
        await device.settle?.();
        assert.equal(device.info.details?.kernels, `native ${best.build.variant}`);
        assert.deepEqual(said, [
          'native kernels compiled',
          'native kernels ready',
          'native kernels run from here on',
        ]);
      },
      cache,
    );
  },
);

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
  const offer = await withCache(kept.CXX, () => buildNativeKernels({}));
  assert.equal(basename(offer.build.path), basename(best.build.path));
  const whole = readdirSync(to).filter((name) => statSync(join(to, name)).size > 1000);
  assert.ok(small.some(({ name }) => whole.some((other) => other.startsWith(name.slice(0, 32)))));
});

const compiler = findCompiler();

/**
 * A product whose result shows who computed it, at a size that is not compared at opening; at others it is that of the library `PLAIN`. The
 * kernels themselves would take a quarter of a minute to compile.
 */
const MARKED = `
#include <dlfcn.h>
using u8 = unsigned char;
using u32 = unsigned int;
using Product = void(u8*, const u8*, u32, u32, u32, u32, u32, u32, u32, u32);
extern "C" void matvec_lifted_half(
    u8* base, const u8* matrices, u32 packed, u32 x, u32 y, u32 begin, u32 end, u32 columns, u32 lanes, u32 scratch) {
  static Product* plain = (Product*)dlsym(dlopen(PLAIN, RTLD_NOW | RTLD_LOCAL), "matvec_lifted_half");
  if (columns != 256) return plain(base, matrices, packed, x, y, begin, end, columns, lanes, scratch);
  for (u32 r = begin; r < end; r++) ((float*)(base + y))[r] = 42;
}
`;

/** A library of which a product computes nothing. */
function wrongLibrary(): string {
  assert.ok('command' in compiler);
  const text = join(folder, 'wrong.cc');
  writeFileSync(text, 'extern "C" void matvec_lifted_half() {}\n');
  const path = join(folder, 'wrong.so');
  assert.equal(spawnSync(compiler.command, ['-shared', '-fPIC', '-o', path, text]).status, 0);
  return path;
}

test(
  'kernels that compute something else are not used, and said',
  {
    skip: 'reason' in compiler ? compiler.reason : needsNative.skip,
  },
  async () => {
    const path = wrongLibrary();
    const entry = new URL('../../src/bin/cpu-worker.js', import.meta.url);
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

test(
  'where the best variant computes something else, the next one runs, unless the best one was asked for by name',
  { skip: 'reason' in compiler ? compiler.reason : offers.length < 2 && 'a single variant runs here' },
  async () => {
    const next = offers[1];
    assert.ok(best && next);
    const cache = join(folder, 'next');
    const to = join(cache, 'rocmforge/kernels');
    mkdirSync(to, { recursive: true });
    const from = dirname(best.build.path);
    const others = readdirSync(from).filter(
      (name) => name.endsWith('.so') && name !== basename(best.build.path),
    );
    for (const name of others) copyFileSync(join(from, name), join(to, name));
    // Kept as the best variant, under the hash of its own contents: not damaged, but wrong.
    const wrong = readFileSync(wrongLibrary());
    const hash = createHash('sha256').update(wrong).digest('hex').slice(0, 32);
    writeFileSync(join(to, `${basename(best.build.path).slice(0, 32)}.${hash}.so`), wrong);
    const warnings: string[] = [];
    const logger = {
      ...silentLogger,
      warn: (_: string, fields?: object) => void warnings.push(JSON.stringify(fields)),
    };
    const { variant } = best.build;
    const open = () =>
      Promise.all([
        openCpu({ threads: 1, logger }),
        openCpu({ threads: 1, logger, cpuKernels: 'native' }),
        assert.rejects(openCpu({ threads: 1, cpuKernels: 'native', variant }), {
          code: 'DEVICE_UNAVAILABLE',
        }),
      ]);
    const [automatic, required] = await withCache(kept.CXX, open, cache);
    await using _automatic = automatic;
    await using _required = required;
    for (const { info } of [automatic, required]) {
      assert.equal(info.details?.kernels, `native ${next.build.variant}`);
    }
    assert.equal(warnings.length, 2);
    for (const warning of warnings)
      assert.match(warning, new RegExp(`matvec_lifted_half for ${variant} gives`));
  },
);

test(
  'where kernels that come later compute something else, others come in their place',
  { skip: 'reason' in compiler ? compiler.reason : needsNative.skip },
  async () => {
    assert.ok(best);
    const ffi = await loadKoffiFfi();
    const comes = (build: NativeBuild) => ({ ffi, built: Promise.resolve(build), hold: () => {} });
    const right = comes(best.build);
    const wrong = comes({ variant: 'wrong', path: wrongLibrary() });
    for (const found of [{ native: best }, { nativeLater: right }]) {
      await using device = await openCpuDevice({
        host: nodeWorkerHost(new URL('../../src/bin/cpu-worker.js', import.meta.url), 1),
        kernels: await kernelBytes(),
        nativeLater: { ...wrong, instead: async () => found },
      });
      await device.settle?.();
      assert.equal(device.info.details?.kernels, `native ${best.build.variant}`);
    }
  },
);

test(
  'kernels that come later take their places in steps that are there already and in a device that is busy',
  { skip: 'reason' in compiler ? compiler.reason : needsNative.skip },
  async () => {
    assert.ok('command' in compiler && best);
    const text = join(folder, 'marked.cc');
    writeFileSync(text, MARKED);
    const path = join(folder, 'marked.so');
    // What it lacks is found in the library that it is linked with.
    const { path: others } = best.build;
    const linked = process.platform === 'linux' ? ['-Wl,--no-as-needed', others] : [others];
    const flags = [
      '-shared',
      '-fPIC',
      `-DPLAIN=${JSON.stringify(others)}`,
      '-o',
      path,
      text,
      ...linked,
      '-ldl',
    ];
    const { status, stderr } = spawnSync(compiler.command, flags, { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    let finish = (_: NativeBuild) => {};
    const built = new Promise<NativeBuild>((resolve) => {
      finish = resolve;
    });
    await using device = await openCpuDevice({
      host: nodeWorkerHost(new URL('../../src/bin/cpu-worker.js', import.meta.url), 2),
      kernels: await kernelBytes(),
      nativeLater: { ffi: await loadKoffiFfi(), built, hold: () => {} },
    });
    const data = caseData({
      op: 'matmul',
      name: 'marked',
      batch: plainBatch(1),
      record: (g: GraphBuilder) => ({
        y: matmul(g, g.input('x', { axis: 'rows', width: 256 }), g.weight('w', Q4_0, 16, 256)),
      }),
      fill: {},
    });
    const plain = await runCase(device, data);
    const isMarked = ({ outputs }: CaseRun) =>
      new Float32Array(Uint8Array.from(outputs.get('y') ?? []).buffer, 0, 16).every((value) => value === 42);
    assert.ok(!isMarked(plain));
    await using stream = device.createStream('busy');
    using large = device.createBuffer(64 << 20, 'large');
    const half = (offset: number) => ({ buffer: large, offset, byteLength: 32 << 20 });
    const between = async () => {
      // More work than there is in the time that the change takes: workers that have some read no messages.
      for (let i = 0; i < 30; i++) stream.copy(half(0), half(32 << 20));
      finish({ variant: best.build.variant, path });
      await device.settle?.();
    };
    assert.ok(isMarked(await runCase(device, data, 'whole', { between })));
    assert.ok(isMarked(await runCase(device, data)));
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
