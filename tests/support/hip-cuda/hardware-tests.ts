import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { wholeOf } from '../../../src/device/index.ts';
import type { HipCudaDevice } from '../../../src/devices/hip-cuda/index.ts';
import { ALL_FORMATS } from '../../../src/formats/index.ts';
import { MappedSource } from '../../../src/node/index.ts';
import { decodesAsTheHost } from './device-decoding.ts';
import { Polynomial } from './polynomial.ts';
import { HUNG_MS } from '../hung.ts';

/** What must hold on every GPU, real or emulated, beyond the device contract. */
export const HARDWARE_TESTS: readonly (readonly [
  name: string,
  body: (device: HipCudaDevice) => Promise<void>,
])[] = [
  ['two streams wait for each other', ordered],
  ['time passes forward between events', timed],
  ['a step is captured once and replayed 1 000 times', replayed],
  ['1 000 objects of each kind come and go', cycles],
  ['shared memory of JavaScript is pinned', pinsShared],
  ['buffers in the memory of the host are as those on the device', reachesHost],
  ['pages of a file are pinned where the driver copies from them', pinsFiles],
  ['every format is decoded as the host does', (device) => decodesAsTheHost(device, ALL_FORMATS)],
  ['more than the device has is a typed error', outOfMemory],
];

async function ordered(device: HipCudaDevice): Promise<void> {
  using shared = device.createBuffer(4 << 20, 'shared');
  using result = device.createBuffer(4 << 20, 'result');
  await using first = device.createStream('first');
  await using second = device.createStream('second');
  for (let round = 1; round <= 50; round++) {
    first.upload(new Uint8Array(4 << 20).fill(round), wholeOf(shared));
    second.wait(first.record());
    second.copy(wholeOf(shared), wholeOf(result));
    first.wait(second.record());
  }
  const read = new Uint8Array(4 << 20);
  await second.download(wholeOf(result), read);
  assert.ok(read.every((byte) => byte === 50));
}

async function timed(device: HipCudaDevice): Promise<void> {
  using buffer = device.createBuffer(64 << 20, 'buffer');
  using pinned = device.createPinned(64 << 20, 'pinned');
  await using stream = device.createStream('stream');
  const start = stream.record();
  stream.upload(pinned.bytes, wholeOf(buffer));
  const end = stream.record();
  await end.completed();
  const milliseconds = end.elapsedSince(start);
  assert.ok(milliseconds > 0.1 && milliseconds < HUNG_MS, `64 MiB took ${milliseconds} ms`);
}

async function replayed(device: HipCudaDevice): Promise<void> {
  using polynomial = await Polynomial.on(device);
  for (let i = 0; i < 1000; i++) assert.deepEqual(await polynomial.compute([i, 1, 2]), [4 * i * i, 4, 16]);
}

async function cycles(device: HipCudaDevice): Promise<void> {
  const before = (await device.memory()).free;
  for (let i = 0; i < 1000; i++) {
    using buffer = device.createBuffer(1 << 20, 'cycle');
    using pinned = device.createPinned(4096, 'cycle');
    await using stream = device.createStream('cycle');
    using step = await device.record([], 'cycle');
    stream.upload(pinned.bytes, wholeOf(buffer));
    stream.run(step);
    await stream.synchronize();
  }
  assert.equal(device.liveObjects(), 0);
  // The driver keeps some memory, far less than the 1 000 MiB that were allocated and freed.
  assert.ok(before - (await device.memory()).free < 64 << 20);
}

/** Two ranges that share a page, each in its own mapping. */
export async function pinsFiles(device: HipCudaDevice): Promise<void> {
  // HIP's drivers do not report it.
  assert.ok(device.pinReadOnly || device.info.backend === 'hip');
  if (!device.pinReadOnly) return;
  const content = Uint8Array.from({ length: 3 << 20 }, (_, i) => (i * 31) >> 3);
  const folder = mkdtempSync(join(tmpdir(), 'rocmforge-'));
  try {
    const path = join(folder, 'content.bin');
    writeFileSync(path, content);
    await using source = await MappedSource.open(path);
    await using stream = device.createStream('stream');
    const held: Disposable[] = [];
    for (const [offset, length] of [
      [5000, 1_000_001],
      [1_005_001, content.byteLength - 1_005_001],
    ] as const) {
      const range = await source.map(offset, length);
      assert.ok(range, 'the system maps files');
      held.push(device.pinReadOnly(range.bytes, 'file'), range);
      using buffer = device.createBuffer(length, 'buffer');
      const rows = range.bytes.subarray(range.lead, range.lead + length);
      stream.upload(rows, wholeOf(buffer));
      const back = new Uint8Array(length);
      await stream.download(wholeOf(buffer), back);
      assert.equal(Buffer.compare(back, content.subarray(offset, offset + length)), 0);
    }
    for (const memory of held) memory[Symbol.dispose]();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Uploads, copies and downloads between memory of the host that kernels reach and the device's own. */
export async function reachesHost(device: HipCudaDevice): Promise<void> {
  const before = (await device.memory()).free;
  const content = Uint8Array.from({ length: 3 << 20 }, (_, i) => (i * 31) >> 3);
  using host = device.createHostBuffer(content.byteLength, 'host');
  assert.ok(before - (await device.memory()).free < content.byteLength, 'it takes no memory of the device');
  using own = device.createBuffer(content.byteLength, 'device');
  using back = device.createHostBuffer(content.byteLength, 'back');
  await using stream = device.createStream('stream');
  stream.upload(content, wholeOf(host));
  stream.copy(wholeOf(host), wholeOf(own));
  stream.copy(wholeOf(own), wholeOf(back));
  for (const buffer of [host, own, back]) {
    const read = new Uint8Array(content.byteLength);
    await stream.download(wholeOf(buffer), read);
    assert.equal(Buffer.compare(read, content), 0, buffer.label);
  }
}

async function pinsShared(device: HipCudaDevice): Promise<void> {
  const shared = new Uint8Array(new SharedArrayBuffer(1 << 20)).fill(7);
  using pinned = device.pin(shared, 'shared');
  using buffer = device.createBuffer(1 << 20, 'buffer');
  await using stream = device.createStream('stream');
  stream.upload(pinned.bytes, wholeOf(buffer));
  const back = new Uint8Array(1 << 20);
  await stream.download(wholeOf(buffer), back);
  assert.ok(back.every((byte) => byte === 7));
}

async function outOfMemory(device: HipCudaDevice): Promise<void> {
  const { total } = await device.memory();
  assert.throws(() => device.createBuffer(2 * total, 'too much'), { code: 'OUT_OF_MEMORY' });
  using _ = device.createBuffer(1 << 20, 'still works');
}
