import assert from 'node:assert/strict';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { emulatedTests } from '../support/native/emulator.ts';
import { tinyModel } from '../support/tiny-model.ts';

const emulated = await emulatedTests('gfx1100');

const CASES: readonly ModelOptions[] = [
  { context: 128, cachePositions: 65_536 },
  { context: 128, cachePositions: 65_536, pool: true },
  { context: 128, cachePositions: 65_536, cacheType: 'f32', weights: 'f32', weightMemory: 420_000 },
];

for (const options of CASES) {
  emulated(`memory is taken as it was planned: ${JSON.stringify(options)}`, async (emulator) => {
    const device = emulator.device();
    const { free } = await device.memory();
    const taken = async () => free - (await device.memory()).free;
    const parts = { gguf: await tinyModel('Q8_0'), device, architectures: ALL_ARCHITECTURES };
    await using model = await LanguageModel.open(parts, { batch: 2, load: 'lazy', ...options });
    const { onDevice, margin, streamedParts } = model.fit;
    assert.equal(streamedParts > 0, options.weightMemory !== undefined);
    const buffers = onDevice - margin;
    const allocated = await taken();
    assert.ok(buffers > 2 ** 23, `${buffers} bytes planned`);
    assert.ok(Math.abs(allocated - buffers) <= 0.02 * buffers, `${allocated} of ${buffers} bytes`);
    await model.generate([1, 40, 41], { temperature: 0, maxTokens: 2, ignoreEnd: true }).text();
    const running = (await taken()) - allocated;
    assert.ok(running <= margin, `${running} bytes beside the plan's buffers, ${margin} planned`);
  });
}
