import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { wholeOf } from '../../../src/device/index.ts';
import { usableCores } from '../../../src/node/cpu-threads.ts';
import { openCpu } from '../../../src/node/open-cpu.ts';
import { temporaryFolder } from '../../support/temporary.ts';
import { HUNG_MS, until } from '../../support/hung.ts';

/** A folder that looks like a system's root. */
function systemWith(folder: string, files: Readonly<Record<string, string>>): string {
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${text}\n`);
  }
  return `${folder}/`;
}

test('threads are physical cores within affinity and quota', (t) => {
  const most = availableParallelism();
  const siblings = (list: string) => ({
    'sys/devices/system/cpu/cpu0/topology/thread_siblings_list': list,
    'sys/devices/system/cpu/cpu1/topology/thread_siblings_list': list,
  });
  const status = { 'proc/self/status': 'Name:\tnode\nCpus_allowed_list:\t0-1' };
  const cores = (files: Readonly<Record<string, string>>) =>
    usableCores(systemWith(temporaryFolder(t), files));
  assert.equal(cores({ ...status, ...siblings('0-1') }), 1, 'two threads of one core');
  assert.equal(cores({ 'proc/self/status': 'Cpus_allowed_list:\t0,1' }), Math.min(2, most));
  assert.equal(cores({ ...status, 'sys/fs/cgroup/cpu.max': '100000 100000' }), 1, 'version 2 quota');
  assert.equal(cores({ ...status, 'sys/fs/cgroup/cpu.max': 'max 100000' }), Math.min(2, most));
  assert.equal(cores({ ...status, 'sys/fs/cgroup/cpu.max': '10000 100000' }), 1, 'at least one');
  const group = { 'proc/self/cgroup': '0::/a/b', 'sys/fs/cgroup/a/b/cpu.max': '50000 50000' };
  assert.equal(cores({ ...status, ...group }), 1, 'the quota of the own group');
  const old = { 'sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1', 'sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000' };
  assert.equal(cores({ ...status, ...old }), Math.min(2, most), 'version 1 without quota');
  assert.equal(usableCores('/nowhere/'), most);
});

test('impossible numbers of threads are refused', async () => {
  for (const threads of [0, -1, 1.5, 10_000]) {
    await assert.rejects(openCpu({ threads }), { code: 'INVALID_ARGUMENT' });
  }
});

test('the calling thread goes on while the workers are busy', async () => {
  await using device = await openCpu({ threads: 1 });
  await using stream = device.createStream('busy');
  using from = device.createBuffer(64 << 20, 'from');
  using to = device.createBuffer(64 << 20, 'to');
  // A thread that others keep from running may find the work done when it is back: it is given more than one chance.
  await until(
    () => 'the calling thread never had five turns while there was work',
    async () => {
      for (let i = 0; i < 20; i++) stream.copy(wholeOf(from), wholeOf(to));
      const end = stream.record();
      let turns = 0;
      for (; !end.query(); turns++) await new Promise((resolve) => setImmediate(resolve));
      return turns >= 5;
    },
  );
});

test('transfers of any size keep their order and their bytes', async () => {
  await using device = await openCpu({ threads: 2 });
  await using stream = device.createStream('transfers');
  using buffer = device.createBuffer(3 << 20, 'buffer');
  using pinned = device.createPinned(3 << 20, 'pinned');
  const images = [1, 2, 3].map((k) => Uint8Array.from({ length: 3 << 20 }, (_, i) => (i * k) >> 3));
  const seen = images.map(() => new Uint8Array(3 << 20));
  const downloads = images.map((image, i) => {
    stream.upload(image, wholeOf(buffer));
    return stream.download(wholeOf(buffer), seen[i] as Uint8Array);
  });
  await Promise.all(downloads);
  assert.deepEqual(seen, images);
  pinned.bytes.set(images[0] as Uint8Array);
  stream.upload(pinned.bytes, wholeOf(buffer));
  await stream.download(wholeOf(buffer), seen[2] as Uint8Array);
  assert.deepEqual(seen[2], images[0]);
});

test('more work than the ring has room for is done in order', async () => {
  await using device = await openCpu({ threads: 2 });
  await using stream = device.createStream('many');
  using buffer = device.createBuffer(256, 'buffer');
  for (let i = 0; i < 2000; i++) stream.upload(new Uint8Array(4).fill(i), wholeOf(buffer));
  const seen = new Uint8Array(4);
  await stream.download(wholeOf(buffer), seen);
  assert.deepEqual([...seen], Array(4).fill(1999 % 256));
});

test('devices come and go', { timeout: HUNG_MS }, async () => {
  const before = process.memoryUsage().rss;
  for (let i = 0; i < 20; i++) {
    await using device = await openCpu({ threads: 2 });
    using buffer = device.createBuffer(1 << 20, 'buffer');
    await using stream = device.createStream('stream');
    stream.upload(new Uint8Array(1 << 20).fill(i), wholeOf(buffer));
    await stream.synchronize();
  }
  const grown = (process.memoryUsage().rss - before) / 2 ** 20;
  assert.ok(grown < 150, `${grown} MiB more`);
});
