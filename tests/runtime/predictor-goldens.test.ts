import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { count } from '../../src/model/synthetic-family.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { type AssistantOptions, assistantModel } from '../support/assistant-model.ts';
import { refusesDrafter } from '../support/drafted-texts.ts';
import { emulatedTests, withDevice } from '../support/hip-cuda/emulator.ts';
import { modelOf, PREDICTOR_CASES, type PredictorCase } from '../support/predictor-goldens.ts';
import { guessesAlike } from '../support/predictor-guesses.ts';

for (const name of Object.keys(PREDICTOR_CASES)) {
  test(`${name} predicts what llama.cpp predicts, and no token changes`, () => guessesAlike(name));
}

const ASSISTED = 'gemma4-assistant';
const emulated = await emulatedTests('gfx1100');

emulated('an assistant predicts on an emulated GPU', async (emulator) => {
  await withDevice(emulator, (device) =>
    guessesAlike(ASSISTED, { most: 8, open: () => Promise.resolve(device) }),
  );
});

test('an assistant of another model, or with more than is used, is refused', async () => {
  await refusesDrafter(() => assistantModel(), { speculation: 2 }, 'DRAFT_UNSUPPORTED');
  const files: readonly (readonly [AssistantOptions, string])[] = [
    [{ metadata: { embedding_length_out: count(48) } }, 'DRAFT_UNSUPPORTED'],
    [
      { metadata: { 'attention.key_length': count(16), 'attention.value_length': count(16) } },
      'MODEL_CONFIG',
    ],
    [{ metadata: { 'attention.sliding_window': count(4) } }, 'MODEL_CONFIG'],
    [{ metadata: { nextn_predict_layers: count(1) } }, 'MODEL_CONFIG'],
    [{ foreign: 'blk.0.attn_k.weight' }, 'MODEL_UNREAD'],
  ];
  for (const [of, code] of files) {
    const gguf = await modelOf(PREDICTOR_CASES[ASSISTED] as PredictorCase);
    const device = await openCpu({ threads: 1 });
    const parts = {
      gguf,
      device,
      architectures: ALL_ARCHITECTURES,
      draft: { gguf: await assistantModel(of) },
    };
    await assert.rejects(LanguageModel.open(parts, { speculation: 2 }), { code });
    assert.equal(device.liveObjects(), 0);
    await device[Symbol.asyncDispose]();
    await gguf.dispose();
  }
});
