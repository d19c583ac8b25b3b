import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { tinyModel } from '../support/tiny-model.ts';

const CASES: readonly [format: string, options: ModelOptions][] = [
  ['F32', { context: 64, batch: 4 }],
  ['Q4_0', { context: 1024 }],
  ['Q8_0', { context: 256, batch: 64, cacheType: 'f32', pool: true }],
  ['Q8_0', { context: 128, weights: 'f32' }],
  ['Q4_0', { context: 64, batch: 2, weightMemory: 80_000 }],
];

for (const [format, options] of CASES) {
  test(`memory is taken as it was planned: ${format}, ${JSON.stringify(options)}`, async () => {
    const device = await openCpu({ threads: 2 });
    const { free } = await device.memory();
    const parts = { gguf: await tinyModel(format), device, architectures: ALL_ARCHITECTURES };
    await using model = await LanguageModel.open(parts, options);
    await model.generate([1, 40, 41], { temperature: 0, maxTokens: 2, ignoreEnd: true }).text();
    await model.loaded;
    const taken = free - (await device.memory()).free;
    const { onDevice } = model.fit;
    assert.ok(Math.abs(taken - onDevice) <= 0.02 * onDevice, `${taken} bytes, ${onDevice} planned`);
  });
}
