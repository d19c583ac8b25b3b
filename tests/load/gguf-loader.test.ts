import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { Device } from '../../src/device/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { ALL_FORMATS } from '../../src/formats/index.ts';
import { GgufFile, GgufWriter, loadTensorFloats } from '../../src/gguf/index.ts';
import { MemorySink } from '../../src/io/index.ts';
import { DeviceTensor } from '../../src/load/device-tensor.ts';
import { GgufLoader } from '../../src/load/gguf-loader.ts';
import { openCpu, openDecoder } from '../../src/node/open-cpu.ts';
import { seededRandom } from '../support/random.ts';
import { WatchedSource } from '../support/watched-source.ts';

/** A hundred tensors of all formats in turn, from one row to some thousand, and some without elements. */
async function mixedFile(): Promise<WatchedSource> {
  const random = seededRandom(3);
  const tensors = Array.from({ length: 100 }, (_, i) => {
    const format = ALL_FORMATS[i % ALL_FORMATS.length] as (typeof ALL_FORMATS)[number];
    const columns = Math.max(32, format.blockElements) * (1 + (i % 3));
    const rows = i % 40 === 39 ? 0 : 1 + Math.floor(random() * 90);
    return { name: `tensor.${i}`, format, shape: i === 79 ? [0, 3] : [columns, rows] };
  });
  const sink = new MemorySink();
  const writer = await GgufWriter.begin(sink, { metadata: [], tensors });
  for (const { format, byteLength } of writer.layout.tensors) {
    const bytes = new Uint8Array(byteLength);
    format.fillRandom(bytes, random, 1);
    await writer.write(bytes);
  }
  writer.end();
  return new WatchedSource(sink.bytes());
}

const DEVICES: readonly [string, () => Promise<Device>][] = [
  ['reference', async () => openReferenceDevice()],
  ['cpu', () => openCpu({ threads: 2 })],
];

for (const [name, openDevice] of DEVICES) {
  test(`a hundred tensors of mixed formats arrive as the synchronous loader brings them: ${name}`, async () => {
    await using gguf = await GgufFile.open(await mixedFile());
    await using device = await openDevice();
    await using decoder = await openDecoder({ threads: 2 });
    for (const weights of ['blocks', 'f16', 'f32'] as const) {
      await using baseline = new GgufLoader(gguf, device, { weights });
      const expected = await baseline.loadToGpu();
      assert.deepEqual(
        [...expected.keys()],
        gguf.tensors.map((tensor) => tensor.name),
      );
      for (const streams of [1, 5, 16]) {
        const threads = streams === 1 ? 1 : 2;
        const sizes = {
          streams,
          threads,
          readers: 1 + streams,
          slots: 2 * streams,
          slotBytes: 1024 * streams,
        };
        await using loader = new GgufLoader(gguf, device, { weights, decoder, ...sizes });
        const found = await loader.loadToGpuAsync();
        for (const [tensor, { shape, format }] of found) {
          assert.deepEqual(shape, gguf.tensors.find((info) => info.name === tensor)?.shape);
          assert.equal(format, expected.get(tensor)?.format);
          const bytes = await found.get(tensor)?.toHostBytes();
          assert.deepEqual(bytes, await expected.get(tensor)?.toHostBytes(), `${tensor} ${weights}`);
        }
        assert.equal(found.size, 100);
      }
    }
  });
}

test('elements come back as the formats decode them; twenty who ask cause one load', async () => {
  const source = await mixedFile();
  await using gguf = await GgufFile.open(source);
  await using device = openReferenceDevice();
  const loader = new GgufLoader(gguf, device);
  for (const info of gguf.tensors.slice(0, ALL_FORMATS.length)) {
    source.reads = 0;
    assert.equal(loader.getGpuTensorCached(info.name), undefined);
    const asked = Array.from({ length: 20 }, () => loader.loadTensorToGpu(info.name));
    const [tensor] = await Promise.all(asked);
    assert.ok(tensor);
    assert.equal(source.reads, 1);
    assert.equal(loader.getGpuTensorCached(info.name), tensor);
    assert.deepEqual(await tensor.toHost(), await loadTensorFloats(info));
  }
  assert.throws(
    () => loader.loadTensorToGpu('no such tensor'),
    (error) => isRocmforgeError(error, 'INVALID_ARGUMENT'),
  );
  source.failFrom = 1;
  await assert.rejects(loader.loadTensorToGpu('tensor.99'), (error) =>
    isRocmforgeError(error, 'READ_FAILED'),
  );
  source.failFrom = undefined;
  await loader.loadTensorToGpu('tensor.99');
  await loader[Symbol.asyncDispose]();
  assert.equal(device.liveObjects(), 0);
});

test('elements of the host go to the device and back', async () => {
  await using device = openReferenceDevice();
  const elements = Float32Array.from({ length: 77 }, (_, i) => Math.fround(Math.sin(i)));
  using tensor = await DeviceTensor.fromHost(device, { name: 'sines', shape: [7, 11] }, elements);
  assert.deepEqual(await tensor.toHost(), elements);
  await assert.rejects(DeviceTensor.fromHost(device, { name: 'short', shape: [78] }, elements), (error) =>
    isRocmforgeError(error, 'INVALID_ARGUMENT'),
  );
});
