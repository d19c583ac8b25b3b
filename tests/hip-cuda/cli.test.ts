import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { DeviceReport } from '../../src/node/devices.ts';
import { buildEmulator, findCompiler } from '../support/emulator/build-emulator.ts';
import { type CliResult, startCliIn, tinyModelFile } from '../support/run-cli.ts';

const compiler = findCompiler();
const skip = 'reason' in compiler ? compiler.reason : false;

/** Runs the bin on a machine whose loader finds the emulated driver and compiler. */
async function runWithGpu(t: TestContext, ...args: readonly string[]): Promise<CliResult> {
  assert.ok('command' in compiler);
  const folder = dirname((await buildEmulator(compiler.command)).hip);
  const env = {
    ...process.env,
    LD_LIBRARY_PATH: folder,
    XDG_CACHE_HOME: join(folder, 'cache'),
    EMULATOR_TARGET: 'gfx1100',
  };
  const { process: process_, result } = startCliIn(t, env, args);
  process_.stdin.end();
  const ended = await result;
  assert.equal(ended.code, 0, ended.stderr);
  return ended;
}

test('a GPU is listed first, with what there is to know about it', { skip }, async (t) => {
  const [gpu] = JSON.parse((await runWithGpu(t, 'devices', '--json')).stdout) as DeviceReport[];
  assert.equal(gpu?.device, 'hip:0');
  assert.equal(gpu.name, 'Emulated gfx1100');
  assert.deepEqual(gpu.details, {
    target: 'gfx1100',
    bus: '0000:00:00.0',
    multiprocessors: 2,
    driver: '7.0.51831',
    library: 'libamdhip64.so.7',
    compiler: 'hiprtc 7.0 (libhiprtc.so.7)',
  });
  assert.ok(gpu.memory && gpu.memory.free > 0 && gpu.memory.free <= gpu.memory.total);
});

test('a GPU writes what the CPU writes', { skip }, async (t) => {
  const model = await tinyModelFile(t);
  const options = ['--greedy', '--ignore-end', '-n', '24', '-c', '64'];
  const run = ['run', '-m', model, '-p', 'a', ...options, '--device'];
  const [gpu, cpu] = [await runWithGpu(t, ...run, 'hip'), await runWithGpu(t, ...run, 'cpu')];
  assert.ok(gpu.stdout.length > 24);
  assert.equal(gpu.stdout, cpu.stdout);
});

test('the bundled model answers on a GPU, which is taken without being named', { skip }, async (t) => {
  const question = 'Please tell me: what is the capital of France?';
  const run = ['run', '-p', question, '--greedy', '-n', '3', '-c', '64', '-b', '4'];
  const gpu = await runWithGpu(t, ...run, '--log', 'debug');
  assert.match(gpu.stderr, /device opened.*hip/);
  assert.equal(gpu.stdout.trim(), (await runWithGpu(t, ...run, '--device', 'cpu')).stdout.trim());
  assert.match(gpu.stdout, /The capital/);
});
