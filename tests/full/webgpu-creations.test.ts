import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { totalOf } from '../../src/device/index.ts';
import { BUFFER_USAGE } from '../../src/devices/webgpu/gpu-usage.ts';
import { openWebGpuDevice, type WebGpuDevice } from '../../src/devices/webgpu/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { SharedDeviceMemory } from '../../src/load/shared-device-memory.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { NO_SOFTWARE_GPU } from '../support/software-gpu.ts';
import { tinyModel } from '../support/tiny-model.ts';
import { GPU_CREATIONS, watchedGpu } from '../support/watched-gpu.ts';

/** Buffers that the host maps: the ring's slots, results on their way back. */
const MAPPABLE = BUFFER_USAGE.mapRead | BUFFER_USAGE.mapWrite;

describe('what a model creates on WebGPU', { skip: NO_SOFTWARE_GPU }, () => {
  // One device for all, and a row a step: a driver on the CPU takes seconds over the kernels of each.
  let watched: Awaited<ReturnType<typeof watchedGpu>>;
  let device: WebGpuDevice;
  before(async () => {
    watched = await watchedGpu();
    device = await openWebGpuDevice({ gpu: watched.gpu });
  });
  beforeEach(() => watched.calls.clear());
  after(() => device[Symbol.asyncDispose]());

  /** A model, which owns the device where it shares no memory. */
  async function opened(options: ModelOptions, sharedMemory?: SharedDeviceMemory): Promise<LanguageModel> {
    const parts = { gguf: await tinyModel('Q8_0'), device, sharedMemory, architectures: ALL_ARCHITECTURES };
    return LanguageModel.open(parts, { context: 64, batch: 1, ...options });
  }

  for (const weights of ['blocks', 'f32'] as const) {
    test(`buffers are created once, as they were planned: weights as ${weights}`, async () => {
      const { buffers, calls } = watched;
      const known = new Set(buffers);
      await using model = await opened({ load: 'lazy', weights }, await SharedDeviceMemory.open(device));
      const { fit } = model;
      await model.plan.preloadAll();
      const created = [...buffers].filter((buffer) => !known.has(buffer));
      const own = created.filter(({ usage }) => (usage & MAPPABLE) === 0);
      const taken = own.reduce((sum, { size }) => sum + size, 0);
      const { streams, slotBytes } = fit.loader;
      const waiting = weights === 'blocks' ? device.memoryRules.waiting(streams, slotBytes) : [];
      const planned = fit.weights + fit.cache + fit.scratch + totalOf(waiting);
      const isFirst = weights === 'blocks';
      assert.equal(model.plan.fit().margin < fit.margin, isFirst, 'what is taken once is planned once');
      assert.equal(calls.get('createBuffer'), created.length, 'no buffer gave way to another');
      assert.ok(Math.abs(taken - planned) <= 0.02 * planned, `${taken} bytes, ${planned} planned`);
    });
  }

  // The last, because the device is gone with its model.
  test('a step makes no buffers, bind groups or pipelines, and two command buffers; a model leaves none of its buffers', async () => {
    const { buffers, calls } = watched;
    const model = await opened({ load: 'eager', runtime: { recordsAhead: false } });
    const tokens = async (maxTokens: number) => {
      model.reset();
      await model.generate([1, 5, 9, 7, 3, 8], { temperature: 0, ignoreEnd: true, maxTokens }).text();
    };
    await tokens(8);
    assert.ok(GPU_CREATIONS.some((name) => (calls.get(name) ?? 0) > 10));
    calls.clear();
    await tokens(8);
    const few = new Map(calls);
    calls.clear();
    await tokens(40);
    for (const name of GPU_CREATIONS) assert.equal(calls.get(name), undefined, name);
    const perToken = (name: string) => ((calls.get(name) ?? 0) - (few.get(name) ?? 0)) / 32;
    assert.deepEqual(
      ['writeBuffer', 'createCommandEncoder', 'submit'].map((name) => [name, perToken(name)]),
      [
        // The inputs, and for the first token of a block the block's place in the table.
        ['writeBuffer', 1 + 1 / 32],
        ['createCommandEncoder', 2],
        ['submit', 2],
      ],
    );
    assert.ok(buffers.size > 10);
    await model.dispose();
    assert.deepEqual(
      [...buffers].map(({ label }) => label),
      [],
    );
  });
});
