import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { F16, F32 } from '../../src/formats/index.ts';
import { GgufFile } from '../../src/gguf/index.ts';
import { AsyncModelLoader, type LoaderOptions, SYNCHRONOUS } from '../../src/load/async-model-loader.ts';
import type { LazyTensor } from '../../src/load/lazy-tensor.ts';
import type { LoadProgress } from '../../src/load/load-progress.ts';
import { LoadTrace } from '../../src/load/load-trace.ts';
import { openSource } from '../../src/node/index.ts';
import { deviceWith, refuseAsDriver } from '../support/device-with.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { tinyBytes, tinyModel } from '../support/tiny-model.ts';
import { arrived, expected, placedTensor, placedTensors } from '../support/placed-tensors.ts';

const SIZES: readonly (LoaderOptions & { readonly rowAlignment: number })[] = [
  { ...SYNCHRONOUS, slotBytes: 1, rowAlignment: 1 },
  { readers: 2, slots: 2, slotBytes: 1000, streams: 1, rowAlignment: 4 },
  { readers: 8, slots: 16, slotBytes: 1 << 20, rowAlignment: 1 },
  { readers: 3, slots: 2, slotBytes: 4096, streams: 16, rowAlignment: 32 },
];

for (const { rowAlignment, ...options } of SIZES) {
  test(`weights arrive byte for byte: ${JSON.stringify(options)}, rows by ${rowAlignment}`, async () => {
    await using gguf = await tinyModel('Q8_0');
    await using device = openReferenceDevice();
    await using loader = new AsyncModelLoader(device, options);
    for (const become of [undefined, F32, F16]) {
      const tensors = placedTensors(gguf, device, { rowAlignment, ...(become && { become }) });
      await loader.load(tensors);
      for (const tensor of tensors) assert.deepEqual(await arrived(device, tensor), await expected(tensor));
    }
  });
}

test('progress rises to all bytes and all tensors, and the report adds up', async () => {
  await using gguf = await tinyModel();
  await using device = openReferenceDevice();
  const seen: LoadProgress[] = [];
  await using loader = new AsyncModelLoader(device, { slotBytes: 2000 });
  const report = await loader.load(placedTensors(gguf, device), {
    onProgress: (progress) => seen.push(progress),
  });
  const bytes = gguf.tensors.reduce((sum, { byteLength }) => sum + byteLength, 0);
  assert.ok(seen.every(({ bytes: now }, i) => now > (seen[i - 1]?.bytes ?? 0)));
  assert.ok(seen.every(({ gigabytesPerSecond, secondsLeft }) => gigabytesPerSecond > 0 && secondsLeft >= 0));
  const last = seen.at(-1);
  assert.deepEqual(
    [seen[0]?.phase, last?.phase, last?.bytes, last?.totalBytes, last?.tensors, last?.secondsLeft],
    ['reading', 'ready', bytes, bytes, gguf.tensors.length, 0],
  );
  assert.deepEqual([report.bytes, report.tensors], [bytes, gguf.tensors.length]);
  for (const { busy, sum } of Object.values(report.breakdown)) {
    assert.ok(busy >= 0 && sum >= busy - 1e-6 && busy <= report.seconds + 0.01);
  }
  assert.ok(report.breakdown.read.sum > 0 && report.breakdown.upload.sum > 0 && report.breakdown.pin.sum > 0);
});

test('a trace has a row a reader, decoder and stream, and every byte in each of them once', async () => {
  await using gguf = await tinyModel('Q4_0');
  await using device = openReferenceDevice();
  const trace = new LoadTrace();
  await using loader = new AsyncModelLoader(device, { readers: 2, streams: 3, slotBytes: 2000, trace });
  const tensors = placedTensors(gguf, device, { become: F32 });
  const { bytes } = await loader.load(tensors);
  assert.deepEqual(trace.rows, ['decoder 0', 'reader 0', 'reader 1', 'stream 0', 'stream 1', 'stream 2']);
  const sum = (kind: string) =>
    trace.spans.filter(({ row }) => row.startsWith(kind)).reduce((total, span) => total + span.bytes, 0);
  assert.equal(sum('reader'), bytes);
  assert.equal(
    sum('stream'),
    tensors.reduce((total, { byteLength }) => total + byteLength, 0),
  );
  const { traceEvents } = JSON.parse(JSON.stringify(trace)) as { traceEvents: { ph: string; ts?: number }[] };
  assert.equal(traceEvents.filter(({ ph }) => ph === 'M').length, 6);
  assert.equal(traceEvents.filter(({ ph }) => ph === 'X').length, trace.spans.length);
  assert.ok(traceEvents.every(({ ts = 0 }) => ts >= 0));
  for (const { row, begin, end } of trace.spans) assert.ok(end >= begin, row);
});

test('ring and streams are kept from load to load, and released with the loader', async () => {
  await using gguf = await tinyModel();
  await using device = openReferenceDevice();
  const tensors = placedTensors(gguf, device);
  const before = device.liveObjects();
  const loader = new AsyncModelLoader(device, { slots: 4, streams: 2 });
  await loader.load(tensors);
  assert.equal(device.liveObjects(), before + 4 + 2);
  await loader.load(tensors);
  assert.equal(device.liveObjects(), before + 4 + 2);
  await loader[Symbol.asyncDispose]();
  assert.equal(device.liveObjects(), before);
  await assert.rejects(loader.load(tensors), (error) => isRocmforgeError(error, 'DISPOSED'));
});

test('a weight that somebody waits for overtakes those that nobody waits for', async () => {
  await using gguf = await tinyModel();
  await using device = openReferenceDevice();
  await using loader = new AsyncModelLoader(device, { readers: 1, slots: 1 });
  const order: string[] = [];
  const loads = gguf.tensors.map((tensor) => {
    const load = loader.request(placedTensor(tensor, device));
    void load.done.then(() => order.push(tensor.name));
    return load;
  });
  const last = loads.at(-1);
  assert.ok(last);
  loader.hurry(last);
  await Promise.all(loads.map(({ done }) => done));
  assert.ok(order.indexOf(gguf.tensors.at(-1)?.name ?? '') <= 1, order.join(' '));
  assert.equal(order.length, gguf.tensors.length);
});

test('what waits for the events of a queued weight on the device finds it complete', async () => {
  await using gguf = await tinyModel();
  await using device = openReferenceDevice();
  await using loader = new AsyncModelLoader(device, { streams: 4, slotBytes: 512 });
  const [tensor] = placedTensors(gguf, device) as [LazyTensor];
  await using compute = device.createStream('compute');
  for (const event of await loader.request(tensor).queued) compute.wait(event);
  const found = new Uint8Array(tensor.range.byteLength);
  await compute.download(tensor.range, found);
  assert.deepEqual(found, await expected(tensor));
});

test('a read that fails rejects the load once all reads have ended, and the ring is released', async () => {
  await using gguf = await tinyModel();
  await using device = openReferenceDevice();
  const tensors = placedTensors(gguf, device);
  const before = device.liveObjects();
  await gguf.dispose();
  const loader = new AsyncModelLoader(device);
  await assert.rejects(loader.load(tensors), (error) => isRocmforgeError(error, 'DISPOSED'));
  await loader[Symbol.asyncDispose]();
  assert.equal(device.liveObjects(), before);
});

test('an abort stops the load at every stage, and the next load works', async () => {
  await using gguf = await tinyModel();
  await using device = openReferenceDevice();
  const tensors = placedTensors(gguf, device);
  await using loader = new AsyncModelLoader(device, { slotBytes: 1000 });
  for (const stage of [0, 1, 5, 20]) {
    const controller = new AbortController();
    let reports = 0;
    if (stage === 0) controller.abort();
    const onProgress = () => {
      if (++reports === stage) controller.abort();
    };
    const loading = loader.load(tensors, { signal: controller.signal, onProgress });
    await assert.rejects(loading, (error) => isRocmforgeError(error, 'ABORTED'));
  }
  await loader.load(tensors);
  for (const tensor of tensors) assert.deepEqual(await arrived(device, tensor), await expected(tensor));
});

test('pinned memory that is refused fails the load; the next one works', async () => {
  await using gguf = await tinyModel();
  await using device = openReferenceDevice();
  const tensors = placedTensors(gguf, device);
  let refusals = 1;
  const sparing = deviceWith(device, {
    createPinned: (...of) => {
      if (refusals-- > 0) throw new RangeError('no more');
      return device.createPinned(...of);
    },
  });
  await using loader = new AsyncModelLoader(sparing);
  await assert.rejects(loader.load(tensors), /no more/);
  await loader.load(tensors);
  for (const tensor of tensors) assert.deepEqual(await arrived(device, tensor), await expected(tensor));
});

test('where a driver refuses to pin the ring, every byte still arrives', async (t) => {
  const path = join(temporaryFolder(t), 'model.gguf');
  writeFileSync(path, await tinyBytes('F32'));
  await using gguf = await GgufFile.open(await openSource(path, { mmap: false }));
  await using device = openReferenceDevice();
  let refusals = 0;
  const refusing = deviceWith(device, {
    pin: () => {
      refusals++;
      return refuseAsDriver();
    },
  });
  // Chunks of several slots' size, which begin here and there in the pages that are read for them.
  for (const slotBytes of [64, 500, 3000]) {
    const tensors = placedTensors(gguf, device, { rowAlignment: 64 });
    await using loader = new AsyncModelLoader(refusing, { slots: 1, slotBytes });
    await loader.load(tensors);
    for (const tensor of tensors) assert.deepEqual(await arrived(device, tensor), await expected(tensor));
  }
  assert.ok(refusals > 0);
});

for (const name of ['readers', 'streams', 'slots', 'slotBytes', 'threads'] as const) {
  test(`${name} is a positive whole number`, async () => {
    await using device = openReferenceDevice();
    for (const wrong of [0, -1, 1.5, Number.NaN]) {
      assert.throws(
        () => new AsyncModelLoader(device, { [name]: wrong }),
        (error) => isRocmforgeError(error, 'INVALID_ARGUMENT'),
      );
    }
  });
}
