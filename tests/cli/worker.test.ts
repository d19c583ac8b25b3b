import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { childProcesses } from '../support/child-processes.ts';
import { BUNDLED, ENDLESS, runCli, startCliIn } from '../support/run-cli.ts';

const SECRET = 'a secret of a test of the command line';
const CPU = ['-d', 'cpu', '-t', '1', '--cpu-kernels', 'wasm'];
const RUN = ['run', '-m', BUNDLED, '-c', '64', '-q', '--temperature', '0'];

test('a worker serves a model of another program until Ctrl-C, and says who uses it', async (t) => {
  const env = { ...process.env, ROCMFORGE_WORKER_SECRET: SECRET };
  const worker = startCliIn(t, env, ['worker', ...CPU, '--port', '0', '--json']);
  const lines = createInterface({ input: worker.process.stdout });
  const [first] = (await once(lines, 'line')) as [string];
  const { event, address, device, memory } = JSON.parse(first);
  assert.equal(event, 'listening');
  assert.match(address, /^127\.0\.0\.1:\d+$/);
  assert.equal(device.backend, 'cpu');
  assert.ok(memory.free > 0);
  const args = [...RUN, ...CPU, '-n', '8', '-p', 'Once'];
  const alone = await runCli(t, args);
  const other = startCliIn(t, env, [...args, '--workers', address]);
  other.process.stdin.end();
  assert.deepEqual(await other.result, alone);
  assert.equal(alone.code, 0);
  const wrong = await runCli(t, [...args, '--workers', address, '--worker-secret', 'x'.repeat(16)]);
  assert.match(
    wrong.stderr,
    /error: no connection with 127.0.0.1:\d+: the secrets differ\nfix: {3}Start both/,
  );
  assert.equal(wrong.code, 1);
  worker.process.kill('SIGINT');
  const { code, stdout, stderr } = await worker.result;
  assert.deepEqual([code, stderr], [0, '']);
  const said = stdout.trim().split('\n');
  const kinds = said.map((line) => (JSON.parse(line) as { event: string }).event);
  assert.deepEqual(kinds, ['listening', 'connected', 'ended', 'refused']);
});

test('Ctrl-C ends the wait for a worker that does not answer', async (t) => {
  const mute = createServer((socket) => void socket.on('error', () => {}).resume());
  await once(mute.listen(0, '127.0.0.1'), 'listening');
  t.after(() => mute.close());
  const address = `127.0.0.1:${(mute.address() as AddressInfo).port}`;
  const env = { ...process.env, ROCMFORGE_WORKER_SECRET: SECRET };
  const { process: waiting, result } = startCliIn(t, env, [...RUN, ...CPU, '-p', 'x', '--workers', address]);
  await once(mute, 'connection');
  waiting.kill('SIGINT');
  assert.deepEqual(await result, { code: 130, signal: null, stdout: '', stderr: '' });
});

test('a check on one device leaves the workers to the model that is checked', async (t) => {
  const env = { ...process.env, ROCMFORGE_WORKER_SECRET: SECRET };
  const worker = startCliIn(t, env, ['worker', ...CPU, '--port', '0', '--json']);
  const [first] = (await once(createInterface({ input: worker.process.stdout }), 'line')) as [string];
  const { address } = JSON.parse(first) as { address: string };
  const args = ['bench', '-m', BUNDLED, ...CPU, '--check', 'cpu', '-p', '4', '-n', '2', '--workers', address];
  const { process: bench, result } = startCliIn(t, env, args);
  bench.stdin.end();
  const { code, stderr } = await result;
  assert.equal(code, 0, stderr);
  worker.process.kill('SIGINT');
  await worker.result;
});

test('without a secret nothing is served', async (t) => {
  const { code, stderr } = await runCli(t, ['worker', ...CPU, '--port', '0']);
  assert.equal(code, 2);
  assert.match(stderr, /the secret of workers: found none, expected one, .*ROCMFORGE_WORKER_SECRET/);
});

test('what only workers need is refused without them, unless a setting says it', async (t) => {
  const args = [...RUN, ...CPU, '-n', '1', '-p', 'x'];
  const secret = ['--worker-secret', 'short'];
  for (const option of [['--worker-deadline', '5'], ['--worker-split', 'tensors'], secret]) {
    const { code, stderr } = await runCli(t, [...args, ...option]);
    assert.equal(code, 2);
    assert.match(stderr, new RegExp(`${option[0]}: found no --workers, expected --workers, which it is for`));
  }
  const short = await runCli(t, [...args, '--workers', 'process=cpu', ...secret]);
  assert.equal(short.code, 2);
  assert.match(short.stderr, /the secret: found 5 characters, expected 16 to 1024/);
  const settings = { ROCMFORGE_WORKER_SPLIT: 'tensors', ROCMFORGE_WORKER_DEADLINE: '5' };
  const { process: running, result } = startCliIn(t, { ...process.env, ...settings }, args);
  running.stdin.end();
  const { code, stderr } = await result;
  assert.equal(code, 0, stderr);
});

test('Ctrl-C ends an answer, and the process that computes a part of it', async (t) => {
  const args = [...RUN, ...CPU, '-p', 'hi', ...ENDLESS, '--workers', 'process=cpu'];
  const { process: running, result } = startCliIn(t, process.env, args);
  await once(running.stdout, 'data');
  const worker = childProcesses(running.pid)[0]?.pid;
  assert.ok(worker !== undefined);
  running.kill('SIGINT');
  const { code, stderr } = await result;
  assert.deepEqual([code, stderr], [130, '']);
  assert.throws(() => process.kill(worker, 0), { code: 'ESRCH' });
});

test('the memory of ranks in several processes is told before anything is loaded', async (t) => {
  const args = ['inspect', BUNDLED, '--fit', ...CPU, '--workers', 'process=cpu', '--worker-split', 'tensors'];
  const { code, stdout, stderr } = await runCli(t, args);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /free on each of 2 devices \(cpu\)/);
});
