import assert from 'node:assert/strict';
import type { Device } from '../../src/device/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openGguf } from '../../src/node/open-gguf.ts';
import { familyPaths } from '../support/family-fixtures.ts';
import { reachesHost } from '../support/hip-cuda/hardware-tests.ts';
import { type Emulator, emulatedTests, STATUS, withDevice } from '../support/hip-cuda/emulator.ts';
import { logitsOf } from '../support/prompt-chunk-tests.ts';

const emulated = await emulatedTests('gfx1100');

const OPTIONS = { context: 64, batch: 8, logitRows: 8 } as const;
/** A model with 16 experts, of which a row chooses 4. */
const { model: PATH } = familyPaths({ name: 'qwen3moe', sizes: {} });

async function open(
  emulator: Emulator,
  options: ModelOptions,
  reopen?: () => Promise<Device>,
): Promise<LanguageModel> {
  const gguf = await openGguf(PATH);
  const parts = { gguf, device: emulator.device(), architectures: ALL_ARCHITECTURES };
  return LanguageModel.open(reopen ? { ...parts, reopen } : parts, { ...OPTIONS, ...options });
}

async function say(model: LanguageModel, onToken: (count: number) => void = () => {}): Promise<number[]> {
  const ids: number[] = [];
  for await (const { token } of model.generate([5, 3], { temperature: 0, maxTokens: 40, ignoreEnd: true })) {
    if (token) onToken(ids.push(token.id));
  }
  return ids;
}

emulated('kernels read experts in the memory of the host, and say the same bits', async (emulator) => {
  const ids = [7, 25, 53, 30, 17, 14, 21, 38];
  await using whole = await open(emulator, {});
  await using host = await open(emulator, { experts: 'host', expertSlots: 5 });
  assert.ok(host.fit.pinned > 0);
  assert.deepEqual(await logitsOf(host, ids), await logitsOf(whole, ids));
  assert.deepEqual(await say(host), await say(whole));
  const { expertHits, expertMisses, expertBytes } = host.counters;
  assert.ok(expertHits > 0 && expertMisses > 0 && expertBytes > 0);
});

emulated('a lost device comes back with its experts on the host', async (emulator) => {
  await using whole = await open(emulator, {});
  const expected = await say(whole);
  const reopen = async () => {
    emulator.control.reset();
    return emulator.device();
  };
  await using host = await open(emulator, { experts: 'host', expertSlots: 5 }, reopen);
  const lose = (count: number) => {
    if (count === 20) emulator.control.lose(STATUS.launchFailure);
  };
  assert.deepEqual(await say(host, lose), expected);
});

emulated('buffers in the memory of the host are as those on the device', (emulator) =>
  withDevice(emulator, reachesHost),
);
