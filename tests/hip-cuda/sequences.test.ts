import assert from 'node:assert/strict';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openGguf } from '../../src/node/open-gguf.ts';
import { fixture } from '../support/fixture.ts';
import { compareEmbeddingPlaces, comparePerLayerPlaces } from '../support/host-embedding.ts';
import { emulatedTests, withDevice } from '../support/hip-cuda/emulator.ts';
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

emulated('an encoder computes texts together as it does alone', (emulator) =>
  withDevice(emulator, async (device) => {
    const gguf = await openGguf(fixture('families/bert.gguf'));
    const parts = { gguf, device, architectures: ALL_ARCHITECTURES };
    await using model = await LanguageModel.open(parts, { sequences: 3, context: 32 });
    const texts = [...PROMPTS, [5, 6]];
    const alone: Float32Array[] = [];
    for (const ids of texts) alone.push((await model.embed(ids)).vector);
    const before = model.counters.steps;
    const together = await Promise.all(texts.map((ids) => model.embed(ids)));
    assert.ok(model.counters.steps - before < texts.length);
    for (const [i, { vector }] of together.entries()) {
      // Plans of more rows round differently.
      const worst = Math.max(...vector.map((value, at) => Math.abs(value - (alone[i]?.[at] ?? 9))));
      assert.ok(worst < 1e-5, `text ${i}: ${worst} apart`);
    }
  }),
);

emulated('with the embedding on the host the same bits come, Q8_0', (emulator) =>
  compareEmbeddingPlaces(async () => emulator.device(), 'Q8_0', { batch: 4, sequences: 3 }),
);

emulated('per-layer embeddings stay on the host, and the texts do not change', (emulator) =>
  comparePerLayerPlaces(async () => emulator.device()),
);

emulated(
  'of one plan for everything, texts and probabilities are the same in any batch, with drafts or without',
  (emulator) =>
    withDevice(emulator, async (device) => {
      const gguf = await tinyModel('Q8_0');
      const draft = { gguf: await tinyModel('Q8_0') };
      const runtime = { adaptsDrafts: false };
      const parts = { gguf, device, draft, architectures: ALL_ARCHITECTURES };
      const options = { context: 32, batch: 8, sequences: 2, speculation: 3, deterministic: true, runtime };
      await using model = await LanguageModel.open(parts, options);
      const answer = async (prompt: readonly number[], speculation?: number) => {
        model.reset();
        const how = {
          temperature: 1,
          seed: 3,
          maxTokens: 9,
          ignoreEnd: true,
          logProbabilities: 0,
          speculation,
        };
        const stream = model.generate(prompt, how);
        const tokens: object[] = [];
        for await (const { token } of stream) if (token) tokens.push(token);
        return { tokens, drafts: [stream.end.proposedTokens, stream.end.acceptedTokens] };
      };
      const [first, second] = PROMPTS as [number[], number[]];
      const alone = [await answer(first, 0), await answer(second, 0)];
      const together = await Promise.all([answer(first), answer(second)]);
      for (const [i, { tokens, drafts }] of together.entries()) {
        assert.deepEqual(tokens, alone[i]?.tokens);
        assert.ok((drafts[0] ?? 0) > 3 && drafts[0] === drafts[1], `${drafts}`);
      }
    }),
);
