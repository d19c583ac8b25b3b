import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { Device, WorkerHandle } from '../../src/device/index.ts';
import { openCpuDecoder } from '../../src/devices/cpu/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { GgufFile } from '../../src/gguf/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { SharedDeviceMemory } from '../../src/load/shared-device-memory.ts';
import { kernelBytes, openCpu } from '../../src/node/open-cpu.ts';
import { nodeWorkerHost } from '../../src/node/worker-host.ts';
import { checkFailedCreations } from '../support/failed-creations.ts';
import { checkCycles } from '../support/load-cycles.ts';
import { checkLoadFaults } from '../support/load-faults.ts';
import { openMortalCpu } from '../support/mortal-cpu.ts';
import { tinyBytes } from '../support/tiny-model.ts';
import { WatchedSource } from '../support/watched-source.ts';

const PROMPT = [1, 40, 41, 42, 43];
const OPTIONS: ModelOptions = { context: 32, batch: 4 };

async function answer(model: LanguageModel): Promise<string> {
  return await model.generate(PROMPT, { temperature: 0, maxTokens: 3, ignoreEnd: true }).text();
}

async function openOn(device: Device, source: WatchedSource, options: ModelOptions): Promise<LanguageModel> {
  const parts = { gguf: await GgufFile.open(source), device, architectures: ALL_ARCHITECTURES };
  return LanguageModel.open(parts, { ...OPTIONS, ...options });
}

const DEVICES: readonly [string, () => Promise<Device>][] = [
  ['reference', async () => openReferenceDevice()],
  ['cpu', () => openCpu({ threads: 2 })],
];

for (const [name, openDevice] of DEVICES) {
  for (const load of ['eager', 'background'] as const) {
    test(`whatever cannot be created, nothing stays behind and a second load works: ${name}, ${load}`, async () => {
      await using device = await openDevice();
      await checkFailedCreations(device, { load, step: load === 'eager' ? 1 : 7 });
    });
  }
}

for (const load of ['eager', 'background'] as const) {
  test(`a device that is lost while weights are loaded: a typed error, all released: ${load}`, async () => {
    const bytes = await tinyBytes('Q8_0');
    const { device, lose } = await openMortalCpu();
    const source = new WatchedSource(bytes);
    const life = async () => {
      const model = await openOn(device, source, { load });
      try {
        return await answer(model);
      } finally {
        await model.dispose();
      }
    };
    const before = source.reads;
    source.onRead = () => {
      // A worker dies of what it cannot read, in the middle of the weights.
      if (source.reads === before + 20) lose();
    };
    await assert.rejects(life(), (error) => isRocmforgeError(error, 'DEVICE_LOST'));
    await device[Symbol.asyncDispose]();
    assert.equal(device.liveObjects(), 0);
    const second = await openMortalCpu();
    await using model = await openOn(second.device, new WatchedSource(bytes), { load });
    assert.ok((await answer(model)).length > 0);
  });
}

test('whatever goes wrong with the file, nothing stays behind and a second load works', async (t) => {
  await using device = await openCpu({ threads: 2 });
  await checkLoadFaults(t, device);
});

test('models come and go on one device without growth', async () => {
  await using device = await openCpu({ threads: 2 });
  await checkCycles({ device, loads: 10, files: 4, rounds: 1 });
});

test('a decoding thread that dies fails the load, and a second one has a fresh thread', async () => {
  const workers: WorkerHandle[] = [];
  const real = nodeWorkerHost(new URL('../../src/bin/decode-worker.js', import.meta.url), 1);
  const start = (name: string) => {
    const worker = real.start(name);
    workers.push(worker);
    return worker;
  };
  await using decoder = await openCpuDecoder({ host: { threads: 1, start }, kernels: await kernelBytes() });
  await using device = openReferenceDevice();
  const sharedMemory = await SharedDeviceMemory.open(device);
  const bytes = await tinyBytes('Q8_0');
  const life = async (source: WatchedSource) => {
    await using gguf = await GgufFile.open(source);
    const borrowed = {
      threads: 1,
      decode: decoder.decode.bind(decoder),
      [Symbol.asyncDispose]: async () => {},
    };
    const parts = { gguf, device, sharedMemory, decoder: borrowed, architectures: ALL_ARCHITECTURES };
    await using model = await LanguageModel.open(parts, { ...OPTIONS, load: 'eager', weights: 'f32' });
    return await answer(model);
  };
  const text = await life(new WatchedSource(bytes));
  const dying = new WatchedSource(bytes);
  // What a worker cannot read ends it.
  dying.onRead = () => {
    if (dying.reads === 12) workers.at(-1)?.post({ kind: 'start', kernels: 'none' });
  };
  await assert.rejects(life(dying), (error) => isRocmforgeError(error, 'DEVICE_LOST'));
  assert.equal(device.liveObjects(), 0);
  assert.equal(await life(new WatchedSource(bytes)), text);
  assert.equal(workers.length, 2);
});
