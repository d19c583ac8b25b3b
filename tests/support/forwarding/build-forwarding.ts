import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findCompiler } from '../emulator/build-emulator.ts';
import { PROJECT_ROOT } from '../project.ts';

const SOURCES = join(PROJECT_ROOT, 'tests/support/forwarding');
const CUDA_HOME = process.env.CUDA_HOME ?? '/usr/local/cuda';
const CUDA_LIBRARIES = join(CUDA_HOME, 'lib64');

/** Paths of libraries that implement HIP's functions by calling CUDA's. */
export interface ForwardingLibraries {
  readonly hip: string;
  readonly hiprtc: string;
}

/** Builds HIP on top of CUDA, or reports what is missing. Throws with the compiler's output. */
export function buildForwarding(): ForwardingLibraries | { reason: string } {
  const compiler = findCompiler();
  if ('reason' in compiler) return compiler;
  if (!existsSync(join(CUDA_HOME, 'include/cuda.h'))) return { reason: `there is no cuda.h in ${CUDA_HOME}` };
  const folder = join(PROJECT_ROOT, '.cache/forwarding', digestOf(compiler.command));
  mkdirSync(folder, { recursive: true });
  const build = (name: string, source: string, needs: string) => {
    const library = join(folder, name);
    if (!existsSync(library)) compile(compiler.command, { library, source, needed: emptyLibrary(needs) });
    return library;
  };
  const emptyLibrary = (name: string) => {
    const library = join(folder, name.replace('.so', '-stand-in.so'));
    run(compiler.command, ['-shared', `-Wl,-soname,${name}`, '-x', 'c', '/dev/null', '-o', library]);
    return library;
  };
  return {
    hip: build('libamdhip64.so.7', 'hip-on-cuda.c', 'libcuda.so.1'),
    hiprtc: build('libhiprtc.so.7', 'hiprtc-on-nvrtc.c', newestNvrtc()),
  };
}

function newestNvrtc(): string {
  const names = ['libnvrtc.so.13', 'libnvrtc.so.12'];
  return names.find((name) => existsSync(join(CUDA_LIBRARIES, name))) ?? 'libnvrtc.so.13';
}

/** Links against `needed` by name only: its symbols are resolved when the library is loaded. */
function compile(compiler: string, of: { library: string; source: string; needed: string }): void {
  run(compiler, [
    ...['-shared', '-fPIC', '-fvisibility=hidden', '-Wall', '-Wextra', '-Werror'],
    ...['-x', 'c', `-I${join(CUDA_HOME, 'include')}`, join(SOURCES, of.source)],
    ...['-x', 'none', '-Wl,--no-as-needed', of.needed, `-Wl,-rpath,${CUDA_LIBRARIES}`, '-o', of.library],
  ]);
}

function digestOf(compiler: string): string {
  const hash = createHash('sha256').update(JSON.stringify([compiler, CUDA_HOME, newestNvrtc()]));
  for (const file of ['hip-on-cuda.c', 'hiprtc-on-nvrtc.c', 'build-forwarding.ts']) {
    hash.update(readFileSync(join(SOURCES, file)));
  }
  return hash.digest('hex').slice(0, 16);
}

function run(command: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} failed:\n${stderr}`);
}
