import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openWebGpuDevice } from '../../src/devices/webgpu/index.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { NO_SOFTWARE_GPU } from '../support/software-gpu.ts';
import { tinyModel } from '../support/tiny-model.ts';
import { GPU_CREATIONS, watchedGpu } from '../support/watched-gpu.ts';

describe('a step on WebGPU', { skip: NO_SOFTWARE_GPU }, () => {
  test('makes no buffers, bind groups or pipelines, and two command buffers; a model leaves none of its buffers', async () => {
    const { gpu, calls, buffers } = await watchedGpu();
    const device = await openWebGpuDevice({ gpu });
    const parts = { gguf: await tinyModel('Q4_0'), device, architectures: ALL_ARCHITECTURES };
    const runtime = { recordsAhead: false };
    const model = await LanguageModel.open(parts, { context: 64, batch: 4, load: 'eager', runtime });
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
