import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { GgufFile } from '../../src/gguf/index.ts';
import { MemorySource } from '../../src/io/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { failingDevice } from '../support/failing-device.ts';
import { checkLoadFaults } from '../support/load-faults.ts';
import { emulatedTests, withDevice } from '../support/native/emulator.ts';
import { tinyBytes } from '../support/tiny-model.ts';
import { NO_SOFTWARE_GPU, openSoftwareGpu } from '../support/software-gpu.ts';

const emulated = await emulatedTests('gfx1100');

emulated('whatever goes wrong with the file, nothing stays behind', (emulator, t) =>
  withDevice(emulator, (device) => checkLoadFaults(t, device)),
);

test(
  'whatever goes wrong with the file, nothing stays behind: WebGPU',
  { skip: NO_SOFTWARE_GPU },
  async (t) => {
    await using device = await openSoftwareGpu();
    await checkLoadFaults(t, device);
  },
);

test(
  'whatever WebGPU cannot create, nothing stays behind and a second load works',
  { skip: NO_SOFTWARE_GPU },
  async () => {
    await using device = await openSoftwareGpu();
    const failing = failingDevice(device);
    const bytes = await tinyBytes('Q8_0');
    const life = async () => {
      failing.created = 0;
      const gguf = await GgufFile.open(new MemorySource(bytes, 'tiny.gguf'));
      const parts = { gguf, device: failing.device, architectures: ALL_ARCHITECTURES };
      await using model = await LanguageModel.open(parts, { context: 32, batch: 2, load: 'eager' });
      return await model.generate([1, 40, 41], { temperature: 0, maxTokens: 2, ignoreEnd: true }).text();
    };
    const text = await life();
    const { created } = failing;
    for (let nth = 1; nth <= created; nth += 3) {
      failing.failAt = nth;
      await assert.rejects(life(), /no (?:create|compile|record)/, `creation ${nth} of ${created}`);
      assert.equal(device.liveObjects(), 0, `creation ${nth} of ${created}`);
    }
    failing.failAt = undefined;
    assert.equal(await life(), text);
  },
);
