import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { type Device, type PackedWeight, wholeOf } from '../../src/device/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { type GgufFile, loadTensorBytes } from '../../src/gguf/index.ts';
import { AsyncModelLoader, type WeightJob } from '../../src/load/async-model-loader.ts';
import type { LoadProgress } from '../../src/load/load-progress.ts';
import { tinyModel } from '../support/tiny-model.ts';

/** A job for each tensor of the file, laid out as in the file. */
function jobsFor(gguf: GgufFile, device: Device, rowAlignment = 1): WeightJob[] {
  return gguf.tensors.map((tensor, id) => {
    const [columns = 1] = tensor.shape;
    const rows = tensor.elementCount / columns;
    const part = { kind: 'weight', id, name: tensor.name, format: tensor.format, rows, columns } as const;
    const weight: PackedWeight = {
      parts: [part],
      byteLength: tensor.byteLength,
      layout: 'file',
      rowAlignment,
    };
    return {
      weight,
      target: wholeOf(device.createBuffer(tensor.byteLength, tensor.name)),
      tensors: [tensor],
    };
  });
}

for (const [slots, slotBytes, rowAlignment] of [
  [1, 1, 1],
  [2, 1000, 4],
  [8, 1 << 20, 1],
  [3, 4096, 32],
] as const) {
  test(`weights arrive byte for byte: ${slots} slots of ${slotBytes} bytes, rows by ${rowAlignment}`, async () => {
    await using gguf = await tinyModel('Q8_0');
    await using device = openReferenceDevice();
    const jobs = jobsFor(gguf, device, rowAlignment);
    await new AsyncModelLoader(device, { slots, slotBytes }).load(jobs);
    await using stream = device.createStream('check');
    for (const { target, tensors } of jobs) {
      const found = new Uint8Array(target.byteLength);
      await stream.download(target, found);
      const [tensor] = tensors;
      assert.ok(tensor);
      assert.deepEqual(found, await loadTensorBytes(tensor));
    }
  });
}

test('progress rises to all bytes and all tensors', async () => {
  await using gguf = await tinyModel();
  await using device = openReferenceDevice();
  const seen: LoadProgress[] = [];
  const jobs = jobsFor(gguf, device);
  await new AsyncModelLoader(device, { slotBytes: 2000, onProgress: (progress) => seen.push(progress) }).load(
    jobs,
  );
  const bytes = gguf.tensors.reduce((sum, { byteLength }) => sum + byteLength, 0);
  assert.ok(seen.every(({ bytes: now }, i) => now > (seen[i - 1]?.bytes ?? 0)));
  assert.equal(seen.at(-1)?.bytes, bytes);
  assert.equal(seen.at(-1)?.totalBytes, bytes);
  assert.equal(seen.at(-1)?.tensors, gguf.tensors.length);
});

test('a read that fails rejects the load once all reads have ended, and the ring is released', async () => {
  await using gguf = await tinyModel();
  await using device = openReferenceDevice();
  const jobs = jobsFor(gguf, device);
  const before = device.liveObjects();
  await gguf.dispose();
  await assert.rejects(new AsyncModelLoader(device).load(jobs), (error) =>
    isRocmforgeError(error, 'DISPOSED'),
  );
  assert.equal(device.liveObjects(), before);
});

test('an abort stops the load at every stage, and a second load works', async () => {
  await using gguf = await tinyModel();
  await using device = openReferenceDevice();
  const jobs = jobsFor(gguf, device);
  const before = device.liveObjects();
  for (const stage of [0, 1, 5, 20]) {
    const controller = new AbortController();
    let reports = 0;
    if (stage === 0) controller.abort();
    const onProgress = () => {
      if (++reports === stage) controller.abort();
    };
    const loader = new AsyncModelLoader(device, { slotBytes: 1000, signal: controller.signal, onProgress });
    await assert.rejects(loader.load(jobs), (error) => isRocmforgeError(error, 'ABORTED'));
    assert.equal(device.liveObjects(), before);
  }
  await new AsyncModelLoader(device).load(jobs);
});
