import { checkCycles } from '../support/load-cycles.ts';
import { emulatedTests, withDevice } from '../support/hip-cuda/emulator.ts';

const emulated = await emulatedTests('gfx1100');

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
