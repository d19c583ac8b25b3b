import assert from 'node:assert/strict';
import type { Device } from '../../src/device/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openGguf } from '../../src/node/open-gguf.ts';
import { bundledModel } from '../../src/node/bundled-model.ts';
import { buffersOf } from '../../src/plan/memory/weight-placement.ts';

/** The budget as a fraction of the file's size. */
const BUDGET = 0.4;

/** The bundled model generates the same text with a weight budget of 40 % of its size as without one. */
export async function checkWeightBudget(openDevice: () => Promise<Device>, tokens: number): Promise<void> {
  const whole = await say(openDevice, tokens, {});
  assert.equal(whole.streamedParts, 0);
  const weightMemory = Math.floor(BUDGET * whole.fileBytes);
  const little = await say(openDevice, tokens, { weightMemory });
  assert.ok(little.streamedParts > 0);
  assert.ok(little.weights <= weightMemory, `${little.weights} of ${weightMemory} bytes`);
  assert.deepEqual(little.ids, whole.ids);
}

async function say(openDevice: () => Promise<Device>, tokens: number, options: ModelOptions) {
  const gguf = await openGguf(bundledModel());
  const parts = { gguf, device: await openDevice(), architectures: ALL_ARCHITECTURES };
  await using model = await LanguageModel.open(parts, { context: 32, batch: 8, ...options });
  const ids: number[] = [];
  const said = model.generate('One, two,', { temperature: 0, maxTokens: tokens, ignoreEnd: true });
  for await (const { token } of said) if (token) ids.push(token.id);
  assert.equal(ids.length, tokens);
  const { streamedParts, placement } = model.fit;
  const weights = buffersOf(placement).reduce((sum, bytes) => sum + bytes, 0);
  return { ids, weights, streamedParts, fileBytes: gguf.byteLength };
}
