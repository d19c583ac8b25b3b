import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { buildEmulator, findCompiler } from '../emulator/build-emulator.ts';
import { type CliResult, startCliIn } from '../run-cli.ts';

const compiler = findCompiler();

/** Why no driver can be emulated, or false. */
export const NO_EMULATOR: string | false = 'reason' in compiler ? compiler.reason : false;

/** Runs the CLI successfully with a loader that finds the emulated driver and compiler. */
export function runWithGpu(t: TestContext, ...args: readonly string[]): Promise<CliResult> {
  return runWithGpus(t, 1, args);
}

/** The same with so many emulated GPUs. */
export async function runWithGpus(
  t: TestContext,
  count: number,
  args: readonly string[],
): Promise<CliResult> {
  assert.ok('command' in compiler);
  const folder = dirname((await buildEmulator(compiler.command)).hip);
  const env = {
    ...process.env,
    LD_LIBRARY_PATH: folder,
    XDG_CACHE_HOME: join(folder, 'cache'),
    EMULATOR_TARGET: 'gfx1100',
    EMULATOR_DEVICES: String(count),
  };
  const { process: process_, result } = startCliIn(t, env, args);
  process_.stdin.end();
  const ended = await result;
  assert.equal(ended.code, 0, ended.stderr);
  return ended;
}
