import assert from 'node:assert/strict';
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Logger, silentLogger } from '../../src/base/log.ts';
import { kernelSource, moduleKey, HIP_CUDA_KERNELS } from '../../src/devices/hip-cuda/index.ts';
import { ChildCompiler } from '../../src/node/child-compiler.ts';
import { GraphBuilder } from '../../src/ops/index.ts';
import { type Emulator, emulatedTests, openTestPlatform, withDevice } from '../support/hip-cuda/emulator.ts';
import { Polynomial } from '../support/hip-cuda/polynomial.ts';
import { fixedKernels } from '../support/hip-cuda/probe.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { openedDevice } from '../support/hip-cuda/opened-device.ts';

const emulated = await emulatedTests('gfx1100');

test('a kernel text includes each of our texts once, under its own name and lines', () => {
  const texts: Record<string, string> = {
    'main.hip': '#include "a.h"\n#include FORMAT\nint last;',
    'a.h': '#pragma once\n#include "b.h"\nint a;',
    'b.h': 'int b;',
    'formats/x.h': '#include "b.h"\nint x;',
  };
  const source = kernelSource(
    { file: 'main.hip', defines: { FORMAT: '"formats/x.h"', SIZE: 4 } },
    { read: (name) => texts[name] ?? assert.fail(name) },
  );
  assert.deepEqual(source.split('\n'), [
    '#define SIZE 4',
    '#line 1 "main.hip"',
    '#line 1 "a.h"',
    '',
    '#line 1 "b.h"',
    'int b;',
    '#line 3 "a.h"',
    'int a;',
    '#line 2 "main.hip"',
    '#line 1 "formats/x.h"',
    '#line 2 "formats/x.h"',
    'int x;',
    '#line 3 "main.hip"',
    'int last;',
    '',
  ]);
  assert.equal(moduleKey({ file: 'f', defines: { B: 1, A: 'x' } }), 'f A=x B=1');
});

/** A logger that keeps where kernels came from, and warnings. */
function keeping(said: unknown[]): Logger {
  return {
    ...silentLogger,
    warn: (message) => void said.push(message),
    debug: (message, fields) => {
      if (message === 'kernel ready') said.push(fields?.from);
    },
  };
}

/** Where the two texts of a polynomial and that of small copies came from, on a fresh device over a cache. */
async function sources(emulator: Emulator, cacheFolder: string): Promise<unknown[]> {
  const said: unknown[] = [];
  const { library } = emulator;
  await using platform = await openTestPlatform({ cacheFolder, compilers: emulator.compilers });
  const logger = keeping(said);
  await using device = openedDevice({
    library,
    ordinal: 0,
    platform,
    kernels: HIP_CUDA_KERNELS,
    logger,
  });
  using polynomial = await Polynomial.on(device);
  assert.deepEqual(await polynomial.compute([1, 2, -3]), [4, 16, 36]);
  assert.deepEqual(await polynomial.compute([0.5, 0, 10]), [1, 0, 400]);
  return said;
}

emulated('kernels come from the compiler once, then from the cache', async (emulator, t) => {
  const folder = temporaryFolder(t);
  assert.deepEqual(await sources(emulator, folder), ['compiler', 'compiler', 'compiler']);
  assert.deepEqual(await sources(emulator, folder), ['cache', 'cache', 'cache']);
});

emulated('a damaged or shortened cache file is compiled again', async (emulator, t) => {
  const folder = temporaryFolder(t);
  await sources(emulator, folder);
  const [first, second] = readdirSync(folder).map((file) => join(folder, file));
  assert.ok(first && second);
  truncateSync(first, 1000);
  assert.deepEqual((await sources(emulator, folder)).sort(), ['cache', 'cache', 'compiler']);
  const bytes = readFileSync(second);
  bytes[2000] = (bytes[2000] ?? 0) ^ 1;
  writeFileSync(second, bytes);
  assert.deepEqual((await sources(emulator, folder)).sort(), ['cache', 'cache', 'compiler']);
  assert.deepEqual(await sources(emulator, folder), ['cache', 'cache', 'cache']);
});

emulated(
  'cached code that the driver refuses is compiled again, and the log says so',
  async (emulator, t) => {
    const folder = temporaryFolder(t);
    await sources(emulator, folder);
    emulator.control.failCall('hipModuleLoadData', 1, 200);
    const said = await sources(emulator, folder);
    assert.deepEqual(said.sort(), [
      'a cached kernel does not load and is compiled again',
      'cache',
      'cache',
      'compiler',
    ]);
  },
);

emulated('a cache that cannot be written costs nothing but time', async (emulator, t) => {
  const file = join(temporaryFolder(t), 'a file, not a folder');
  writeFileSync(file, '');
  assert.deepEqual(await sources(emulator, file), ['compiler', 'compiler', 'compiler']);
});

emulated("a text that does not compile is an error with the compiler's words", async (emulator) => {
  const module = { file: 'unary.hip', defines: { ACTIVATION: 'of nothing' } };
  await withDevice(
    emulator,
    async (device) => {
      const graph = new GraphBuilder('g', { rows: 1, outputs: 1, slots: 1, blocksPerSlot: 1 }).finish();
      await assert.rejects(device.compile(graph), {
        code: 'KERNEL_COMPILE',
        message:
          /kernel unary.hip ACTIVATION=of nothing does not compile for gfx1100: hiprtc 7.0 .*activation\.h:\d+/s,
      });
    },
    { kernels: fixedKernels([module], () => []) },
  );
});

emulated(
  'a compiler that takes its process down is an error, and the next job compiles',
  async (emulator) => {
    const { compiler } = emulator.platform;
    const job = { api: 'hip', name: 'job', source: 'extern "C" void nothing() {}' } as const;
    const failed = await compiler.compile({ ...job, options: ['--offload-arch=gfx9999'] });
    assert.ok(!failed.code);
    assert.match(failed.log, /process stopped: it ended with SIGABRT/);
    const compiled = await compiler.compile({ ...job, options: ['--offload-arch=gfx1100'] });
    assert.ok(compiled.code);
  },
);

emulated('a process that ends for idleness takes no more requests', async (emulator) => {
  const libraries = emulator.compilers;
  await using compiler = new ChildCompiler({ libraries, processes: 1, idleMilliseconds: 1 });
  const source = 'extern "C" void nothing() {}';
  for (let round = 0; round < 6; round++) {
    const job = { api: 'hip', name: 'job', source, options: ['--offload-arch=gfx1100'] } as const;
    assert.ok((await compiler.compile(job)).code, `round ${round}`);
    await delay(round % 3);
  }
});

test('a machine without the compiler gets a typed error', async () => {
  await using platform = await openTestPlatform({ compilers: { hip: ['libnowhere.so.1'] } });
  const job = { api: 'hip', name: 'job', source: '', options: [] } as const;
  await assert.rejects(platform.compiler.compile(job), {
    code: 'LIBRARY_NOT_FOUND',
    message: /the hip run-time compiler was not found: .*libnowhere\.so\.1 was not found/,
  });
});
