import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { Device } from '../../src/device/index.ts';
import type { WebGpuDevice } from '../../src/devices/webgpu/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { GgufFile, loadTensorFloats } from '../../src/gguf/index.ts';
import { MemorySource } from '../../src/io/index.ts';
import { SharedDeviceMemory } from '../../src/load/shared-device-memory.ts';
import { GgufLoader } from '../../src/load/gguf-loader.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { checkFailedCreations } from '../support/failed-creations.ts';
import { checkLoadFaults } from '../support/load-faults.ts';
import { checkPools } from '../support/load-pools.ts';
import { NO_SOFTWARE_GPU, openSoftwareGpu } from '../support/software-gpu.ts';
import { tinyBytes } from '../support/tiny-model.ts';
import { WatchedSource } from '../support/watched-source.ts';

const bytes = await tinyBytes('Q8_0');

/** A row a step: a driver on the CPU takes seconds over a model's kernels, and again for steps of several. */
const SMALL = { context: 32, batch: 1 } as const;

/** What a model generates, twice, and its weights' memory. The device ends with it, unless a shared memory holds it. */
async function generated(options: ModelOptions, device: Device, sharedMemory?: SharedDeviceMemory) {
  const gguf = await GgufFile.open(new MemorySource(bytes, 'tiny.gguf'));
  const parts = { gguf, device, sharedMemory, architectures: ALL_ARCHITECTURES };
  await using model = await LanguageModel.open(parts, { ...SMALL, ...options });
  const texts: number[][] = [];
  for (let round = 0; round < 2; round++) {
    model.reset();
    const ids: number[] = [];
    const stream = model.generate([1, 40, 41], { temperature: 0, maxTokens: 5, ignoreEnd: true });
    for await (const { token } of stream) if (token) ids.push(token.id);
    texts.push(ids);
  }
  return { texts, fit: model.fit };
}

describe('loading on WebGPU', { skip: NO_SOFTWARE_GPU }, () => {
  // One for all that leave it whole: a driver on the CPU compiles the model's kernels for seconds, once for each device.
  let device: WebGpuDevice;
  before(async () => {
    device = await openSoftwareGpu();
  });
  after(async () => {
    assert.equal(device.liveObjects(), 0);
    await device[Symbol.asyncDispose]();
  });

  test('tokens are the same whenever weights come, and when layers are streamed', async () => {
    const sharedMemory = await SharedDeviceMemory.open(device);
    const { texts, fit } = await generated({ load: 'eager' }, device, sharedMemory);
    assert.deepEqual(texts[0], texts[1]);
    for (const load of ['background', 'lazy'] as const) {
      assert.deepEqual((await generated({ load }, device, sharedMemory)).texts, texts, load);
    }
    const weightMemory = Math.floor(0.9 * fit.weights);
    const streamed = await generated({ weightMemory }, device, sharedMemory);
    assert.ok(streamed.fit.streamedParts > 0 && streamed.fit.weights < 0.9 * fit.weights);
    assert.deepEqual(streamed.texts, texts);
  });

  test('weights that were decoded on the way give the tokens of the reference', async () => {
    const expected = await generated({ weights: 'f32' }, openReferenceDevice());
    const sharedMemory = await SharedDeviceMemory.open(device);
    assert.deepEqual((await generated({ weights: 'f32' }, device, sharedMemory)).texts, expected.texts);
  });

  test('tensors by name arrive as their format decodes them', async () => {
    await using gguf = await GgufFile.open(new MemorySource(bytes, 'tiny.gguf'));
    await using loader = new GgufLoader(gguf, device, {
      weights: 'f32',
      streams: 3,
      slots: 4,
      slotBytes: 5000,
    });
    for (const [name, tensor] of await loader.loadToGpuAsync()) {
      assert.deepEqual(await tensor.toHost(), await loadTensorFloats(gguf.requireTensor(name)), name);
    }
  });

  // That nothing is left of models that come and go, tests/full/ sees.
  test('models come also when a file failed, lie in pools as elsewhere, and share memory', async (t) => {
    await checkLoadFaults(t, device);
    await checkPools(device);
    await checkSharing(device);
  });

  test('whatever cannot be created, nothing stays behind and a second load works', async () => {
    // Every creation, tests/full/ has.
    await checkFailedCreations(device, { load: 'eager', step: 11 });
    await checkFailedCreations(device, { load: 'background', step: 17 });
  });

  // The last, because the device is gone with it.
  test('a device that is lost while weights are loaded: a typed error, all released', async () => {
    const source = new WatchedSource(bytes);
    const parts = { gguf: await GgufFile.open(source), device, architectures: ALL_ARCHITECTURES };
    const { reads } = source;
    source.onRead = () => {
      if (source.reads === reads + 10) device.lose();
    };
    const life = async () => {
      await using model = await LanguageModel.open(parts, SMALL);
      await model.generate([1, 40, 41], { temperature: 0, maxTokens: 2, ignoreEnd: true }).text();
    };
    await assert.rejects(life(), (error) => isRocmforgeError(error, 'DEVICE_LOST'));
    assert.equal(device.liveObjects(), 0);
  });
});

/** Two models in memory for one and a half. */
async function checkSharing(device: Device): Promise<void> {
  const open = async (sharedMemory: SharedDeviceMemory) => {
    const gguf = await GgufFile.open(new MemorySource(bytes, 'tiny.gguf'));
    const parts = { gguf, device, sharedMemory, architectures: ALL_ARCHITECTURES };
    return LanguageModel.open(parts, SMALL);
  };
  const say = (model: LanguageModel) =>
    model.generate([1, 40, 41], { temperature: 0, maxTokens: 3, ignoreEnd: true }).text();
  const alone = await open(await SharedDeviceMemory.open(device));
  const expected = await say(alone);
  const { onDevice, weights } = alone.fit;
  await alone.dispose();
  const memory = 2 * (onDevice - weights) + Math.ceil(1.5 * weights);
  const sharedMemory = await SharedDeviceMemory.open(device, { memory });
  await using first = await open(sharedMemory);
  await using second = await open(sharedMemory);
  for (const model of [first, second, first]) {
    model.reset();
    assert.equal(await say(model), expected);
  }
  assert.ok([...first.plan.weights, ...second.plan.weights].some(({ state }) => state === 'evicted'));
}
