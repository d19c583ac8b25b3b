import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { type Device, totalOf } from '../../src/device/index.ts';
import { BUFFER_USAGE } from '../../src/devices/webgpu/gpu-usage.ts';
import { openWebGpuDevice, type WebGpuDevice } from '../../src/devices/webgpu/index.ts';
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
import { watchedGpu } from '../support/watched-gpu.ts';
import { WatchedSource } from '../support/watched-source.ts';

const bytes = await tinyBytes('Q8_0');

/** Buffers that the host maps: the ring's slots, results on their way back. */
const MAPPABLE = BUFFER_USAGE.mapRead | BUFFER_USAGE.mapWrite;

/** What a model generates, twice, and its weights' memory. The device ends with it, unless a shared memory holds it. */
async function generated(options: ModelOptions, device: Device, sharedMemory?: SharedDeviceMemory) {
  const gguf = await GgufFile.open(new MemorySource(bytes, 'tiny.gguf'));
  const parts = { gguf, device, sharedMemory, architectures: ALL_ARCHITECTURES };
  await using model = await LanguageModel.open(parts, { context: 32, batch: 2, ...options });
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
    // Every creation of an eager load, tests/full/ has.
    await checkFailedCreations(device, { load: 'eager', step: 4 });
    await checkFailedCreations(device, { load: 'background', step: 7 });
  });

  for (const weights of ['blocks', 'f32'] as const) {
    test(`buffers are created once, as they were planned: weights as ${weights}`, async () => {
      const { gpu, buffers, calls } = await watchedGpu();
      const watched = await openWebGpuDevice({ gpu });
      const gguf = await GgufFile.open(new MemorySource(bytes, 'tiny.gguf'));
      const parts = { gguf, device: watched, architectures: ALL_ARCHITECTURES };
      const options = { context: 64, batch: 2, load: 'lazy', weights } as const;
      await using model = await LanguageModel.open(parts, options);
      await model.plan.preloadAll();
      const { fit } = model;
      const own = [...buffers].filter(({ usage }) => (usage & MAPPABLE) === 0);
      const taken = own.reduce((sum, { size }) => sum + size, 0);
      const { streams, slotBytes } = fit.loader;
      const waiting = weights === 'blocks' ? watched.memoryRules.waiting(streams, slotBytes) : [];
      const planned = fit.weights + fit.cache + fit.scratch + totalOf(waiting);
      assert.ok(model.plan.fit().margin < fit.margin, 'what is taken once is planned once');
      assert.equal(calls.get('createBuffer'), buffers.size, 'no buffer gave way to another');
      assert.ok(Math.abs(taken - planned) <= 0.02 * planned, `${taken} bytes, ${planned} planned`);
    });
  }

  test('a device that is lost while weights are loaded: a typed error, all released', async () => {
    const lost = await openSoftwareGpu();
    const source = new WatchedSource(bytes);
    const parts = { gguf: await GgufFile.open(source), device: lost, architectures: ALL_ARCHITECTURES };
    const { reads } = source;
    source.onRead = () => {
      if (source.reads === reads + 10) lost.lose();
    };
    const life = async () => {
      await using model = await LanguageModel.open(parts, { context: 32, batch: 2 });
      await model.generate([1, 40, 41], { temperature: 0, maxTokens: 2, ignoreEnd: true }).text();
    };
    await assert.rejects(life(), (error) => isRocmforgeError(error, 'DEVICE_LOST'));
    await lost[Symbol.asyncDispose]();
    assert.equal(lost.liveObjects(), 0);
  });
});

/** Two models in memory for one and a half. */
async function checkSharing(device: Device): Promise<void> {
  const open = async (sharedMemory: SharedDeviceMemory) => {
    const gguf = await GgufFile.open(new MemorySource(bytes, 'tiny.gguf'));
    const parts = { gguf, device, sharedMemory, architectures: ALL_ARCHITECTURES };
    return LanguageModel.open(parts, { context: 32, batch: 2 });
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
