import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wholeOf } from '../../src/device/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { collectGarbage } from '../support/collect-garbage.ts';

test('three hundred devices come and go without growth', async () => {
  const cycle = async () => {
    await using device = await openCpu({ threads: 2 });
    using buffer = device.createBuffer(32 << 20, 'buffer');
    await using stream = device.createStream('stream');
    stream.upload(new Uint8Array(32 << 20).fill(1), wholeOf(buffer));
    await stream.synchronize();
  };
  for (let i = 0; i < 30; i++) await cycle();
  await collectGarbage(500);
  const before = process.memoryUsage().rss;
  for (let i = 0; i < 270; i++) await cycle();
  await collectGarbage(500);
  const grown = (process.memoryUsage().rss - before) / 2 ** 20;
  assert.ok(grown < 200, `${grown} MiB more`);
});

test('a hundred thousand buffers come and go, and twenty thousand commands run', async () => {
  await using device = await openCpu({ threads: 2 });
  await using stream = device.createStream('stream');
  for (let i = 0; i < 100_000; i++) {
    using _ = device.createBuffer(1 + ((i * 7919) % 1_000_000), 'buffer');
  }
  using target = device.createBuffer(256, 'target');
  const seen = new Uint8Array(4);
  for (let i = 0; i < 20_000; i++) {
    stream.upload(Uint8Array.of(i, i >> 8, i >> 16, 0), wholeOf(target));
    if (i % 100 === 0) await stream.download(wholeOf(target), seen);
  }
  await stream.download(wholeOf(target), seen);
  assert.deepEqual([...seen], [19_999 & 255, 19_999 >> 8, 0, 0]);
  assert.equal(device.liveObjects(), 2);
});
