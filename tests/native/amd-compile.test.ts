import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import {
  compileOptions,
  kernelSource,
  moduleKey,
  type NativeTarget,
} from '../../src/devices/native/index.ts';
import { ChildCompiler } from '../../src/node/child-compiler.ts';
import { ALL_MODULES, ALL_TEXTS } from '../support/native/kernel-texts.ts';

/** Every kernel for every AMD GPU that we name, by the compilers that would compile it there. */
const CLANG = process.env.CLANG ?? 'clang-19';
const TARGETS: Readonly<Record<string, 32 | 64>> = {
  gfx906: 64,
  gfx90a: 64,
  gfx942: 64,
  gfx1030: 32,
  gfx1100: 32,
  gfx1151: 32,
  gfx1201: 32,
};
/** What Debian's hipRTC of ROCm 5.2 knows. */
const HIPRTC_TARGETS = ['gfx1030', 'gfx90a'];

/** Says why a tool's tests are left out; with CI set, a missing tool is a failure. */
function missing(tool: string): { skip: string } {
  assert.ok(!process.env.CI, `${tool} is needed, and CI is set`);
  return { skip: `${tool} is not installed: kernels are not compiled with it` };
}

const hasClang = spawnSync(CLANG, ['--version']).status === 0;

for (const [target, waveSize] of Object.entries(TARGETS)) {
  test(`${CLANG} compiles every kernel for ${target}`, hasClang ? {} : missing(CLANG), (t) => {
    for (const module of ALL_MODULES) {
      const flags = ['-x', 'hip', '--cuda-device-only', '-nogpuinc', '-nogpulib', '-O3', '-ffp-contract=off'];
      const args = [...flags, `--offload-arch=${target}`, `-DWAVE=${waveSize}`, '-S', '-o', '-', '-'];
      const run = spawnSync(CLANG, args, { input: kernelSource(module, ALL_TEXTS), encoding: 'utf8' });
      assert.equal(run.status, 0, `${moduleKey(module)} for ${target}:\n${run.stderr}`);
      const kernels = run.stdout.matchAll(
        /\.name: +(\w+)[\s\S]*?\.vgpr_count: +(\d+)\s+\.vgpr_spill_count: +(\d+)/g,
      );
      for (const [, name, registers, spilled] of kernels) {
        t.diagnostic(`${target} ${moduleKey(module)} ${name}: ${registers} registers, ${spilled} spilled`);
        assert.equal(spilled, '0', `${name} spills on ${target}`);
      }
    }
  });
}

const compiler = new ChildCompiler({ processes: 2 });
after(() => compiler[Symbol.asyncDispose]());

/** Whether this machine's hipRTC can be opened. */
async function hasHiprtc(): Promise<boolean> {
  const job = { api: 'hip', name: 'nothing', source: '', options: ['--offload-arch=gfx1030'] } as const;
  try {
    await compiler.compile(job);
    return true;
  } catch (error) {
    if (isRocmforgeError(error, 'LIBRARY_NOT_FOUND')) return false;
    throw error;
  }
}

const hiprtc = (await hasHiprtc()) ? {} : missing('hipRTC');
for (const name of HIPRTC_TARGETS) {
  test(`hipRTC compiles every kernel for ${name}`, hiprtc, async () => {
    const target: NativeTarget = {
      api: 'hip',
      name,
      waveSize: TARGETS[name] ?? 0,
      multiprocessors: 1,
      maxThreadsPerBlock: 1024,
      sharedBytesPerBlock: 65536,
      sharedBytesOptIn: 65536,
      l2Bytes: 0,
      programmatic: false,
      blas: false,
    };
    await Promise.all(
      ALL_MODULES.map(async (module) => {
        const source = kernelSource(module, ALL_TEXTS);
        const options = compileOptions(target, name);
        const result = await compiler.compile({ api: 'hip', name: moduleKey(module), source, options });
        assert.ok(result.code, `${moduleKey(module)}: ${'log' in result ? result.log : ''}`);
      }),
    );
  });
}
