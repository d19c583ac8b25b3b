import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { type TestContext, test } from 'node:test';
import { isRocmforgeError } from '../../../src/base/errors.ts';
import {
  compileOptions,
  type KernelModule,
  kernelSource,
  moduleKey,
  type HipCudaTarget,
} from '../../../src/devices/hip-cuda/index.ts';
import { ChildCompiler } from '../../../src/node/child-compiler.ts';
import { AMD_TARGETS, amdTarget } from './amd-targets.ts';
import { ALL_TEXTS } from './kernel-texts.ts';

const CLANG = process.env.CLANG ?? 'clang-19';
const CLANG_FLAGS = [
  ...['-x', 'hip', '--cuda-device-only', '-nogpuinc', '-nogpulib'],
  ...['-std=c++17', '-O3', '-ffp-contract=off', '-S', '-o', '-', '-'],
];

/** Files whose kernels must not spill registers: they are memory-bound, and spills use the same memory. */
const WITHOUT_SPILLS = ['matvec.hip', 'attention.hip', 'attention-tiles.hip'];

/** The targets that Debian's hipRTC of ROCm 5.2 supports. */
const HIPRTC_TARGETS = ['gfx1030', 'gfx90a'];

/** Selects the kernels to compile for a target, given the target's index. */
export type KernelChoice = (target: HipCudaTarget, order: number) => Promise<readonly KernelModule[]>;

/** Declares one test per target: the kernels compile, and the memory-bound ones do not spill. */
export function testClang(choose: KernelChoice): void {
  const options = spawnSync(CLANG, ['--version']).status === 0 ? {} : missing(CLANG);
  for (const [order, target] of AMD_TARGETS.entries()) {
    test(`${CLANG} compiles kernels for ${target.name}`, options, async (t) => {
      const modules = [...(await choose(target, order))];
      assert.ok(modules.length > 0);
      await inParallel(modules, (module) => compileWithClang(t, module, target));
    });
  }
}

/**
 * Declares one test per target: the kernels compile with the machine's hipRTC, through our own driver and child
 * process.
 */
export function testHiprtc(choose: KernelChoice): void {
  for (const [order, name] of HIPRTC_TARGETS.entries()) {
    const target = amdTarget(name);
    test(`hipRTC compiles kernels for ${name}`, async (t) => {
      await using compiler = new ChildCompiler();
      if (!(await hasHiprtc(compiler))) return t.skip(missing('hipRTC').skip);
      const modules = await choose(target, order);
      assert.ok(modules.length > 0);
      await Promise.all(modules.map((module) => compileWithHiprtc(compiler, module, target)));
    });
  }
}

/** Says why a tool's tests are skipped; with CI set, a missing tool is a failure. */
function missing(tool: string): { skip: string } {
  assert.ok(!process.env.CI, `${tool} is needed, and CI is set`);
  return { skip: `${tool} is not installed: kernels are not compiled with it` };
}

/** Compiles one file and reports the registers of its kernels. */
async function compileWithClang(t: TestContext, module: KernelModule, target: HipCudaTarget): Promise<void> {
  const own = [`--offload-arch=${target.name}`, `-DWAVE=${target.waveSize}`];
  const { code, assembly, words } = await run([...own, ...CLANG_FLAGS], kernelSource(module, ALL_TEXTS));
  const key = moduleKey(module);
  assert.equal(code, 0, `${key} for ${target.name}:\n${words}`);
  const kernels = assembly.matchAll(
    /\.name: +(\w+)[\s\S]*?\.vgpr_count: +(\d+)\s+\.vgpr_spill_count: +(\d+)/g,
  );
  for (const [, name, registers, spilled] of kernels) {
    t.diagnostic(`${target.name} ${key} ${name}: ${registers} registers, ${spilled} spilled`);
    if (WITHOUT_SPILLS.includes(module.file)) assert.equal(spilled, '0', `${name} of ${key} spills`);
  }
}

function run(
  args: readonly string[],
  input: string,
): Promise<{ code: number | null; assembly: string; words: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(CLANG, args);
    const assembly: Buffer[] = [];
    const words: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => assembly.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => words.push(chunk));
    child.on('error', reject);
    child.on('close', (code) => {
      resolve({ code, assembly: Buffer.concat(assembly).toString(), words: Buffer.concat(words).toString() });
    });
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

/** Processes as many items concurrently as there are processors. */
async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items];
  const next = async (): Promise<void> => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, next));
}

async function hasHiprtc(compiler: ChildCompiler): Promise<boolean> {
  const job = { api: 'hip', name: 'nothing', source: '', options: ['--offload-arch=gfx1030'] } as const;
  try {
    await compiler.compile(job);
    return true;
  } catch (error) {
    if (isRocmforgeError(error, 'LIBRARY_NOT_FOUND')) return false;
    throw error;
  }
}

async function compileWithHiprtc(
  compiler: ChildCompiler,
  module: KernelModule,
  target: HipCudaTarget,
): Promise<void> {
  const source = kernelSource(module, ALL_TEXTS);
  const options = compileOptions(target, target.name);
  const name = moduleKey(module);
  const result = await compiler.compile({ api: 'hip', name, source, options });
  assert.ok(result.code, `${name}: ${'log' in result ? result.log : ''}`);
}
