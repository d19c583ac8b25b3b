import assert from 'node:assert/strict';
import { DeviceGroup } from '../../src/devices/group/index.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { checkCycles } from '../support/load-cycles.ts';
import { emulatedTests, withDevice } from '../support/hip-cuda/emulator.ts';
import { SPLIT_ALL } from '../support/rank-devices.ts';
import { tinyModel } from '../support/tiny-model.ts';

const emulated = await emulatedTests('gfx1100', 2);

emulated('a hundred models come and go, eight at once', (emulator) =>
  withDevice(emulator, (device) =>
    checkCycles({
      device,
      loads: 100,
      files: 4,
      rounds: 5,
      driverObjects: () => emulator.live(),
    }),
  ),
);

emulated('a hundred groups of two cards come and go, each with a model', async (emulator) => {
  const life = async () => {
    const cards = [0, 1].map((card) => emulator.device({ card }));
    const device = new DeviceGroup(cards, SPLIT_ALL);
    const parts = { gguf: await tinyModel('Q4_0'), device, architectures: ALL_ARCHITECTURES };
    const model = await LanguageModel.open(parts, { context: 32, batch: 2 });
    const text = await model.generate([1, 40, 41], { temperature: 0, maxTokens: 2, ignoreEnd: true }).text();
    assert.ok(emulator.control.reaches(0, 1) && emulator.control.reaches(1, 0), 'the cards are linked');
    await model.dispose();
    assert.equal(device.liveObjects(), 0);
    assert.deepEqual(emulator.live(), {});
    assert.ok(
      !emulator.control.reaches(0, 1) && !emulator.control.reaches(1, 0),
      'access ends with the group',
    );
    return text;
  };
  const expected = await life();
  const { rss } = process.memoryUsage();
  for (let i = 1; i < 100; i++) assert.equal(await life(), expected, `group ${i}`);
  const grown = (process.memoryUsage().rss - rss) / 2 ** 20;
  assert.ok(grown < 200, `${grown.toFixed(0)} MiB more`);
});
