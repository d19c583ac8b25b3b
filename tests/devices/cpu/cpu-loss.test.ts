import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type Device, type WorkerHost, wholeOf } from '../../../src/device/index.ts';
import { openCpuDevice } from '../../../src/devices/cpu/index.ts';
import { openCpu } from '../../../src/node/open-cpu.ts';
import { nodeWorkerHost } from '../../../src/node/worker-host.ts';
import { HUNG_MS } from '../../support/hung.ts';

const SOURCE = new URL('../../../src/', import.meta.url);
const ENTRY = new URL('bin/cpu-worker.js', SOURCE);

/** A CPU device whose last worker gets steps that it cannot read. */
function openWithBadSteps(threads: number): Promise<Device> {
  const host = nodeWorkerHost(ENTRY, threads);
  let started = 0;
  const spoiling: WorkerHost = {
    threads,
    start: (name) => {
      const worker = host.start(name);
      if (++started < threads) return worker;
      const post = (message: unknown) => {
        const isStep = (message as { kind: string }).kind === 'step';
        worker.post(isStep ? { ...(message as object), table: undefined } : message);
      };
      return {
        post,
        onMessage: (listener) => worker.onMessage(listener),
        onFailure: (listener) => worker.onFailure(listener),
        hold: (held) => worker.hold(held),
        terminate: () => worker.terminate(),
      };
    },
  };
  const kernels = (variant: string) => readFileSync(new URL(`devices/cpu/kernels.${variant}.wasm`, SOURCE));
  return openCpuDevice({
    host: spoiling,
    kernels: { relaxed: kernels('relaxed'), baseline: kernels('baseline') },
  });
}

/** Everything that may wait on a device rejects, and nothing hangs. */
async function assertLost(device: Device, pending: readonly Promise<unknown>[]): Promise<void> {
  const error = await device.lost;
  assert.equal((error as { code?: string }).code, 'DEVICE_LOST');
  for (const promise of pending) await assert.rejects(promise, { code: 'DEVICE_LOST' });
  const stream = device.createStream('after');
  await assert.rejects(stream.synchronize(), { code: 'DEVICE_LOST' });
  await stream[Symbol.asyncDispose]();
  await device[Symbol.asyncDispose]();
  assert.equal(device.liveObjects(), 0);
}

test('a worker that throws makes the device lost', { timeout: HUNG_MS }, async () => {
  const device = await openWithBadSteps(2);
  const buffer = device.createBuffer(4 << 20, 'buffer');
  const stream = device.createStream('stream');
  stream.run(await device.record([], 'bad'));
  stream.upload(new Uint8Array(4 << 20), wholeOf(buffer));
  const event = stream.record();
  const download = stream.download(wholeOf(buffer), new Uint8Array(4 << 20));
  await device.lost;
  assert.throws(() => event.query(), { code: 'DEVICE_LOST' });
  await assertLost(device, [event.completed(), download, stream.synchronize()]);
});

test('a worker that ends by itself is reported with its exit code', { timeout: HUNG_MS }, async () => {
  const host = nodeWorkerHost(new URL('data:text/javascript,process.exit(3)'), 1);
  const worker = host.start('ends at once');
  worker.hold(true);
  const failure = new Promise<Error>((resolve) => worker.onFailure(resolve));
  assert.match((await failure).message, /code 3/);
});

test('disposal ends workers that are busy, and a second one does nothing', { timeout: HUNG_MS }, async () => {
  const device = await openCpu({ threads: 2 });
  const from = device.createBuffer(64 << 20, 'from');
  const to = device.createBuffer(64 << 20, 'to');
  const stream = device.createStream('stream');
  for (let i = 0; i < 20; i++) stream.copy(wholeOf(from), wholeOf(to));
  await device[Symbol.asyncDispose]();
  await device[Symbol.asyncDispose]();
  assert.equal(device.liveObjects(), 0);
  assert.throws(() => device.createBuffer(1, 'late'), { code: 'DISPOSED' });
});

test('an open device that nobody waits for does not keep the process alive', { timeout: HUNG_MS }, () => {
  const script = `
    import { openCpu } from ${JSON.stringify(new URL('node/open-cpu.js', SOURCE).href)};
    const device = await openCpu({ threads: 2 });
    const stream = device.createStream('stream');
    const buffer = device.createBuffer(4096, 'buffer');
    const range = { buffer, offset: 0, byteLength: 4096 };
    stream.upload(new Uint8Array(4096).fill(7), range);
    const seen = new Uint8Array(4096);
    await stream.download(range, seen);
    console.log(seen[4095]);`;
  const run = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  assert.equal(run.trim(), '7');
});
