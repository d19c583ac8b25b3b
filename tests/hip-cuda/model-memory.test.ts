import assert from 'node:assert/strict';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { GgufFile } from '../../src/gguf/index.ts';
import { MemorySource } from '../../src/io/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { type Emulator, emulatedTests, STATUS } from '../support/hip-cuda/emulator.ts';
import { tinyBytes } from '../support/tiny-model.ts';

const emulated = await emulatedTests('gfx1100');
const bytes = await tinyBytes('Q8_0');

/** A whole life of a model: open, load, generate, close. */
async function life(emulator: Emulator): Promise<string> {
  await using device = emulator.device();
  const gguf = await GgufFile.open(new MemorySource(bytes, 'tiny.gguf'));
  const parts = { gguf, device, architectures: ALL_ARCHITECTURES };
  await using model = await LanguageModel.open(parts, { context: 32, batch: 2 });
  return await model.generate([1, 2, 3], { temperature: 0, maxTokens: 4, ignoreEnd: true }).text();
}

emulated(
  'a model out of memory at any allocation: a typed error or no harm, and nothing stays behind',
  async (emulator) => {
    const text = await life(emulator);
    emulator.control.reset();
    assert.equal(await life(emulator), text);
    const allocations = emulator.control.calls('hipMalloc');
    assert.ok(allocations > 20, `${allocations} allocations`);
    let refused = 0;
    for (let nth = 1; nth <= allocations; nth++) {
      emulator.control.reset();
      emulator.control.failCall('hipMalloc', nth, STATUS.outOfMemory);
      const which = `allocation ${nth} of ${allocations}`;
      // A weight whose load failed before anybody asked for it is loaded again by who asks.
      await life(emulator).then(
        (said) => assert.equal(said, text, which),
        (error: unknown) => {
          refused++;
          assert.ok(isOutOfMemory(error), which);
        },
      );
      assert.deepEqual(emulator.live(), {}, which);
    }
    assert.ok(refused > allocations / 2, `${refused} of ${allocations} refused`);
  },
);

function isOutOfMemory(error: unknown): boolean {
  return isRocmforgeError(error) && (error.code === 'OUT_OF_MEMORY' || isOutOfMemory(error.cause));
}
