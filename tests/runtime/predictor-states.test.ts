import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LanguageModel, type ModelSetup } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { dflashModel, syntheticTiny } from '../support/dflash-model.ts';
import { eagle3Model } from '../support/eagle3-model.ts';
import { predictingModel } from '../support/predicting-model.ts';
import { tinyModel } from '../support/tiny-model.ts';

/** Longer than a block of the cache, and than a window. */
const PROMPT = Array.from({ length: 70 }, (_, i) => 3 + ((7 * i + i * i) % 58));
const OTHER = Array.from({ length: 50 }, (_, i) => 3 + ((11 * i + 5) % 58));

type Files = Pick<ModelSetup, 'gguf' | 'draft'>;

const own = (architecture: string) => async (): Promise<Files> => ({
  gguf: await predictingModel(architecture, { noise: 0.1 }),
});

/** Layers of each kind of state that predict, and a drafter's file. */
const MODELS: Readonly<Record<string, () => Promise<Files>>> = {
  'a hybrid (Qwen 3.5)': own('qwen35'),
  'latents (DeepSeek 2)': own('deepseek2'),
  'windows (Step 3.5)': own('step35'),
  'EAGLE-3': async () => ({
    gguf: await tinyModel(),
    draft: { gguf: await eagle3Model({ width: 64, heads: 4, kvHeads: 2, features: [0, 1, 2] }) },
  }),
  'DFlash behind a hybrid': async () => ({
    gguf: await syntheticTiny('qwen35'),
    draft: { gguf: await syntheticTiny('dflash') },
  }),
  'DFlash with windows': async () => {
    const sizes = { layers: 2, heads: 4, kvHeads: 2, headSize: 16, features: [1, 2], block: 4, window: 40 };
    return { gguf: await tinyModel(), draft: { gguf: await dflashModel(sizes) } };
  },
};

for (const [name, files] of Object.entries(MODELS)) {
  test(`the state of predictions is shared, forked, saved and restored with the model's: ${name}`, async () => {
    const { gguf, draft } = await files();
    const parts = { gguf, draft, device: await openCpu({ threads: 1 }), architectures: ALL_ARCHITECTURES };
    const options = {
      context: 128,
      sequences: 2,
      speculation: 3,
      predictor: draft === undefined || undefined,
    };
    await using model = await LanguageModel.open(parts, { ...options, runtime: { adaptsDrafts: false } });
    const allowed = new Set([9, 10, 11]);
    const logitBias = new Map(
      Array.from({ length: 64 }, (_, id) => id)
        .filter((id) => draft !== undefined && !allowed.has(id))
        .map((id) => [id, Number.NEGATIVE_INFINITY]),
    );
    const say = async (prompt: readonly number[]) => {
      const how = { temperature: 0.8, seed: 3, maxTokens: 30, ignoreEnd: true, logitBias };
      const stream = model.generate(prompt, how);
      const ids: number[] = [];
      for await (const { token } of stream) if (token) ids.push(token.id);
      const { acceptedByPosition, proposedTokens, cachedTokens } = stream.end;
      return { said: { ids, acceptedByPosition: [...acceptedByPosition], proposedTokens }, cachedTokens };
    };
    const { said: expected, cachedTokens: nothing } = await say(PROMPT);
    assert.equal(nothing, 0);
    const again = await say(PROMPT);
    // A recurrent state that has gone on has no earlier one, except where it was saved.
    if (model.config.state.every(({ kind }) => kind !== 'slots')) assert.ok(again.cachedTokens > 0);
    const both = await Promise.all([say(PROMPT), say(PROMPT)]);
    const snapshot = await model.saveState(PROMPT.slice(0, -3));
    model.reset();
    await say(OTHER);
    await model.restoreState(snapshot);
    const restored = await say(PROMPT);
    assert.ok(restored.cachedTokens > 0);
    // A draft from a wrong state would be right less often.
    for (const { said } of [again, ...both, restored]) assert.deepEqual(said, expected);
  });
}
