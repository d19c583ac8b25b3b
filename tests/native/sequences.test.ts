import assert from 'node:assert/strict';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { compareEmbeddingPlaces } from '../support/host-embedding.ts';
import { emulatedTests, withDevice } from '../support/native/emulator.ts';
import { tinyModel } from '../support/tiny-model.ts';

const emulated = await emulatedTests('gfx1100');

const PROMPTS = [
  [1, 2, 3],
  [1, 40, 41, 42, 43, 44, 45, 46, 47],
  [1, 9],
];

for (const format of ['F32', 'Q8_0']) {
  emulated(`sequences in one batch get the tokens that they get alone, ${format}`, (emulator) =>
    withDevice(emulator, async (device) => {
      const parts = { gguf: await tinyModel(format), device, architectures: ALL_ARCHITECTURES };
      const options = { context: 32, batch: 4, sequences: PROMPTS.length };
      await using model = await LanguageModel.open(parts, options);
      const answer = async (prompt: readonly number[]): Promise<number[]> => {
        const ids: number[] = [];
        const stream = model.generate(prompt, { temperature: 0, maxTokens: 12, ignoreEnd: true });
        for await (const { token } of stream) if (token) ids.push(token.id);
        assert.ok(ids.length >= 10, `${ids.length} tokens`);
        return ids;
      };
      const alone: number[][] = [];
      for (const prompt of PROMPTS) {
        model.reset();
        alone.push(await answer(prompt));
      }
      model.reset();
      assert.deepEqual(await Promise.all(PROMPTS.map(answer)), alone);
    }),
  );
}

emulated('with the embedding on the host the same bits come, Q8_0', (emulator) =>
  compareEmbeddingPlaces(async () => emulator.device(), 'Q8_0', { batch: 4, sequences: 3 }),
);
