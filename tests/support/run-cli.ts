import { type ChildProcessWithoutNullStreams, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestContext } from 'node:test';
import { PROJECT_ROOT } from './project.ts';
import { type Ending, temporaryFolder } from './temporary.ts';
import { tinyBytes } from './tiny-model.ts';
import { HUNG_MS } from './hung.ts';

/** The compiled CLI. */
export const MAIN = join(PROJECT_ROOT, 'dist/src/cli/rocmforge.cjs');

/** The model bundled with the package. */
export const BUNDLED = join(PROJECT_ROOT, 'models/minimind2-small-q4_k_m.gguf');

/** Generates until interrupted. */
export const ENDLESS = ['--ignore-end', '--context-shift', '8', '-n', '1000000000'] as const;

/** How a process ended, and its output. */
export interface CliResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running `rocmforge`. It is killed when it hangs, and when the test ends first. */
export interface RunningCli {
  readonly process: ChildProcessWithoutNullStreams;
  readonly result: Promise<CliResult>;
}

/** Starts the compiled CLI in a separate process, with pipes as its streams. */
export function startCli(t: TestContext, ...args: readonly string[]): RunningCli {
  return startCliIn(t, process.env, args);
}

/** Starts the compiled CLI with its own environment. */
export function startCliIn(t: TestContext, env: NodeJS.ProcessEnv, args: readonly string[]): RunningCli {
  const process_ = spawn(process.execPath, [MAIN, ...args], {
    cwd: PROJECT_ROOT,
    env,
    timeout: HUNG_MS,
    killSignal: 'SIGKILL',
  });
  t.after(() => process_.kill('SIGKILL'));
  return { process: process_, result: resultOf(process_) };
}

/** Runs the compiled CLI to its end, with `input` on its standard input. */
export function runCli(t: TestContext, args: readonly string[], input = ''): Promise<CliResult> {
  const { process: process_, result } = startCli(t, ...args);
  process_.stdin.end(input);
  return result;
}

/**
 * A process for command lines that end before a model answers, one after another: its start takes longer than any of them. Nothing is
 * on its standard input. It ends with the test, or behind all tests of a file.
 */
export function cliProcess(
  t: Ending,
  environment: NodeJS.ProcessEnv = {},
): (args: readonly string[]) => Promise<CliResult> {
  const child = fork(fileURLToPath(new URL('./command-lines.js', import.meta.url)), {
    cwd: PROJECT_ROOT,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    timeout: HUNG_MS,
    killSignal: 'SIGKILL',
  });
  t.after(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the process of the command lines ended with ${code}`);
  });
  // Its end after the last answer is as it should be.
  ended.catch(() => {});
  return async (args) => {
    const answer = once(child, 'message') as Promise<[CliResult]>;
    child.send(args);
    const [result] = await Promise.race([answer, ended]);
    return result;
  };
}

/** Runs such command lines, all in one process. */
export async function runCliEach(
  t: TestContext,
  lines: readonly (readonly string[])[],
  environment: NodeJS.ProcessEnv = {},
): Promise<readonly CliResult[]> {
  const run = cliProcess(t, environment);
  const results: CliResult[] = [];
  for (const line of lines) results.push(await run(line));
  return results;
}

async function resultOf(process_: ChildProcessWithoutNullStreams): Promise<CliResult> {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  process_.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  process_.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  process_.stdin.on('error', () => {});
  const [code, signal] = (await once(process_, 'close')) as [number | null, NodeJS.Signals | null];
  return { code, signal, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() };
}

/** A file of a tiny random model with a chat template and a context of 4096, removed when the test ends. */
export async function tinyModelFile(t: TestContext): Promise<string> {
  const path = join(temporaryFolder(t), 'tiny.gguf');
  const metadata: Parameters<typeof tinyBytes>[1] = [['llama.context_length', { type: 'u32', value: 4096 }]];
  writeFileSync(path, await tinyBytes('F32', metadata));
  return path;
}
