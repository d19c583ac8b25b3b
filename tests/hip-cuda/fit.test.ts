import assert from 'node:assert/strict';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import type { HipCudaDevice } from '../../src/devices/hip-cuda/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { emulatedTests } from '../support/hip-cuda/emulator.ts';
import { TINY, tinyModel } from '../support/tiny-model.ts';

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

emulated('what the driver takes once is planned once', async (emulator) => {
  await using first = emulator.device();
  await using again = emulator.device();
  const { free } = await again.memory();
  const opened = async (device: HipCudaDevice, load: 'eager' | 'lazy') => {
    const parts = { gguf: await tinyModel('Q8_0'), device, architectures: ALL_ARCHITECTURES };
    return LanguageModel.open(parts, { context: 128, cachePositions: 65_536, batch: 2, load });
  };
  const before = await opened(first, 'eager');
  const { onDevice } = before.fit;
  await before.generate([1, 40, 41], { temperature: 0, maxTokens: 2, ignoreEnd: true }).text();
  await before.dispose();
  await using model = await opened(again, 'eager');
  await model.generate([1, 40, 41], { temperature: 0, maxTokens: 2, ignoreEnd: true }).text();
  assert.ok(model.fit.onDevice < onDevice);
  const taken = free - (await again.memory()).free;
  const planned = model.fit.onDevice;
  assert.ok(Math.abs(taken - planned) <= 0.02 * planned, `${taken} of ${planned} bytes`);
});

emulated(
  'dequantized copies are planned with the weights, and are the first to give way',
  async (emulator) => {
    const texts = new Set<string>();
    const run = async (options: ModelOptions, maxBytes?: number) => {
      await using device = emulator.device({ blas: true });
      if (maxBytes !== undefined) {
        Object.defineProperty(device, 'dequantized', { value: { ...device.dequantized, maxBytes } });
      }
      const { free } = await device.memory();
      const parts = { gguf: await tinyModel('Q8_0'), device, architectures: ALL_ARCHITECTURES };
      // One plan, of as many rows as copies are made for.
      const fixed = { context: 128, sequences: 2, batch: 256, deterministic: true } as const;
      await using model = await LanguageModel.open(parts, { ...fixed, load: 'eager', ...options });
      const { onDevice, margin } = model.fit;
      const taken = free - (await device.memory()).free;
      assert.ok(
        taken > 0.95 * (onDevice - margin) && taken < 1.02 * onDevice,
        `${taken} of ${onDevice} bytes`,
      );
      const prompt = Array.from({ length: 9 }, (_, at) => 3 + at);
      texts.add(await model.generate(prompt, { temperature: 0, maxTokens: 2, ignoreEnd: true }).text());
      return model.fit;
    };
    const plain = await run({});
    assert.equal(plain.dequantized, 0, 'a small card makes none unasked');
    const copied = await run({ dequantized: true });
    const { layers, width, hidden, heads, kvHeads } = TINY;
    // Rows are filled up to 128 columns.
    const rows = layers * (2 * width + (2 * width * kvHeads) / heads + 2 * hidden + width);
    assert.equal(copied.dequantized, 2 * 128 * rows);
    const bytes = [plain, copied].map(({ placement }) => placement.weightBytes);
    assert.ok((bytes[1] ?? 0) - (bytes[0] ?? 0) >= copied.dequantized);
    const spare = 2 ** 30;
    assert.equal(
      (await run({}, spare)).dequantized,
      copied.dequantized,
      'one with memory to spare makes them',
    );
    assert.equal((await run({ dequantized: false }, spare)).dequantized, 0);
    const short = await run({ weightMemory: (bytes[1] ?? 0) - 1 }, spare);
    assert.deepEqual([short.dequantized, short.streamedParts], [0, 0]);
    assert.equal(texts.size, 1);
    await assert.rejects(run({ dequantized: true, sequences: 1, context: 96 }), { code: 'INVALID_ARGUMENT' });
    await assert.rejects(run({ dequantized: true, weights: 'f32' }), { code: 'INVALID_ARGUMENT' });
  },
);
