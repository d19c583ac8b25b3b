import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../project.ts';

const SOURCES = join(PROJECT_ROOT, 'tests/support/emulator');

/** The translation units of each library. */
const LIBRARIES = {
  'libamdhip64.so.7': [
    'block-runner',
    'card',
    'control',
    'device-memory',
    'driver-state',
    'fiber',
    'hip-api',
    'hip-modules',
    'hip-streams',
    'module',
    'stream',
    'target',
  ],
  'libhiprtc.so.7': ['hiprtc-api', 'target'],
  'libhipblaslt.so.1': ['blas-api'],
  'librccl.so.1': ['rccl-api'],
} as const;

const FLAGS = [
  '-std=c++17',
  '-O1',
  '-fPIC',
  '-pthread',
  '-fvisibility=hidden',
  '-Wall',
  '-Wextra',
  '-Werror',
];

/** What a library is linked with besides the system's. */
const NEEDS: Readonly<Record<string, string>> = {
  'libhipblaslt.so.1': 'libamdhip64.so.7',
  'librccl.so.1': 'libamdhip64.so.7',
};

/** Paths of the emulated libraries, as ROCm 7 splits them. */
export interface EmulatorLibraries {
  readonly hip: string;
  readonly hiprtc: string;
  readonly blas: string;
  readonly rccl: string;
  /** A cache for its compiled kernels, which only work with the emulator that compiled them. */
  readonly kernels: string;
}

/** The C++ compiler, or why there is none. */
export function findCompiler(): { command: string } | { reason: string } {
  const command = process.env.CXX ?? 'g++';
  if (spawnSync(command, ['--version']).status === 0) return { command };
  // In continuous integration a missing tool is an error; elsewhere it is reported.
  if (process.env.CI) throw new Error(`${command} is needed to build the GPU emulator, and CI is set`);
  return { reason: `no C++ compiler (${command}): the emulated GPU is not tested` };
}

/** Builds the emulator into `.cache/emulator/`, once per change of its sources. Throws with the compiler's output. */
export async function buildEmulator(compiler: string): Promise<EmulatorLibraries> {
  const folder = join(PROJECT_ROOT, '.cache/emulator', sourcesDigest(compiler));
  if (!existsSync(folder)) await compileInto(folder, compiler);
  return {
    hip: join(folder, 'libamdhip64.so.7'),
    hiprtc: join(folder, 'libhiprtc.so.7'),
    blas: join(folder, 'libhipblaslt.so.1'),
    rccl: join(folder, 'librccl.so.1'),
    kernels: join(folder, 'kernels'),
  };
}

function sourcesDigest(compiler: string): string {
  const hash = createHash('sha256').update(JSON.stringify([SOURCES, compiler, FLAGS, LIBRARIES, NEEDS]));
  for (const file of readdirSync(SOURCES).sort()) {
    if (/\.(?:cpp|h)$/.test(file)) hash.update(`${file}\n`).update(readFileSync(join(SOURCES, file)));
  }
  return hash.digest('hex').slice(0, 16);
}

async function compileInto(folder: string, compiler: string): Promise<void> {
  mkdirSync(join(folder, '..'), { recursive: true });
  const lock = `${folder}.lock`;
  if (!lockedBySelf(lock)) {
    // Another test file is building it.
    while (existsSync(lock) && !existsSync(folder)) await new Promise((resolve) => setTimeout(resolve, 50));
    return existsSync(folder) ? undefined : compileInto(folder, compiler);
  }
  const own = `${folder}.${process.pid}`;
  try {
    mkdirSync(own);
    await compileUnits(own, compiler);
    for (const [library, parts] of Object.entries(LIBRARIES)) {
      const objects = parts.map((unit) => join(own, `${unit}.o`));
      const named = ['-o', join(own, library), `-Wl,-soname,${library}`];
      const needed = NEEDS[library] === undefined ? [] : ['-L', own, `-l:${NEEDS[library]}`];
      await run(compiler, [
        '-shared',
        '-pthread',
        ...named,
        ...objects,
        ...needed,
        '-Wl,-rpath,$ORIGIN',
        '-ldl',
      ]);
    }
    renameSync(own, folder);
  } finally {
    rmSync(own, { recursive: true, force: true });
    rmSync(lock, { force: true });
  }
}

/** True if this process may build; takes over the lock of a process that has ended. */
function lockedBySelf(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    const owner = existsSync(lock) ? Number(readFileSync(lock, 'utf8')) : 0;
    if (owner === 0 || isAlive(owner)) return false;
    rmSync(lock, { force: true });
    return lockedBySelf(lock);
  }
}

function isAlive(process_: number): boolean {
  try {
    process.kill(process_, 0);
    return true;
  } catch {
    return false;
  }
}

async function compileUnits(folder: string, compiler: string): Promise<void> {
  const units = [...new Set(Object.values(LIBRARIES).flat())];
  const home = `-DEMULATOR_HOME="${SOURCES}"`;
  const next = async (): Promise<void> => {
    for (let unit = units.shift(); unit !== undefined; unit = units.shift()) {
      const files = ['-c', join(SOURCES, `${unit}.cpp`), '-o', join(folder, `${unit}.o`)];
      await run(compiler, [...FLAGS, home, ...files]);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, next));
}

function run(command: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`${command} failed:\n${said}`))));
  });
}
