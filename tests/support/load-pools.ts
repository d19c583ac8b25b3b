import assert from 'node:assert/strict';
import type { Device } from '../../src/device/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { SharedDeviceMemory } from '../../src/load/shared-device-memory.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { TINY, tinyModel } from './tiny-model.ts';

/** What a model generates, and its weights on the device, read back. */
interface Found {
  readonly text: string;
  readonly weights: ReadonlyMap<string, Uint8Array>;
  readonly offsets: readonly number[];
  readonly buffers: number;
}

/**
 * Weights in separate buffers and in pools: the same bytes and the same text, and shared memory makes no difference.
 */
export async function checkPools(device: Device): Promise<void> {
  const sharedMemory = await SharedDeviceMemory.open(device);
  const alone = await load({ pool: false });
  const pooled = await load({ pool: true });
  assert.ok(alone.offsets.every((offset) => offset === 0));
  assert.ok(pooled.offsets.filter((offset) => offset > 0).length > TINY.layers);
  assert.ok(pooled.buffers <= TINY.layers + 2, `${pooled.buffers} buffers`);
  assert.equal(alone.buffers, alone.weights.size);
  assert.deepEqual(pooled.weights, alone.weights);
  assert.equal(pooled.text, alone.text);

  async function load(options: ModelOptions): Promise<Found> {
    const parts = { gguf: await tinyModel('Q8_0'), device, sharedMemory, architectures: ALL_ARCHITECTURES };
    await using model = await LanguageModel.open(parts, { context: 32, batch: 1, ...options });
    await model.loaded;
    const generation = model.generate([1, 40, 41], { temperature: 0, maxTokens: 3, ignoreEnd: true });
    const text = await generation.text();
    const weights = new Map<string, Uint8Array>();
    await using stream = device.createStream('read back');
    for (const { range, key, byteLength } of model.plan.weights) {
      const bytes = new Uint8Array(byteLength);
      await stream.download({ ...range, byteLength }, bytes);
      weights.set(key, bytes);
    }
    const offsets = model.plan.weights.map(({ range }) => range.offset);
    return { text, weights, offsets, buffers: model.fit.placement.resident.length };
  }
}
