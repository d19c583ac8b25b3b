import assert from 'node:assert/strict';
import { checkGroupCycles } from '../support/group-cycles.ts';
import { checkCycles } from '../support/load-cycles.ts';
import { emulatedTests, withDevice } from '../support/hip-cuda/emulator.ts';

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

emulated('a hundred groups of two cards come and go, each with a model', (emulator) => {
  const reaches = () => [emulator.control.reaches(0, 1), emulator.control.reaches(1, 0)];
  return checkGroupCycles({
    groups: 100,
    open: () => [0, 1].map((card) => emulator.device({ card })),
    living: () => assert.deepEqual(reaches(), [true, true], 'the cards are linked'),
    gone: () => {
      assert.deepEqual(emulator.live(), {});
      assert.deepEqual(reaches(), [false, false], 'access ends with the group');
    },
  });
});
