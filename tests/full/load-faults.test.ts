import { test } from 'node:test';
import { checkLoadFaults } from '../support/load-faults.ts';
import { emulatedTests, withDevice } from '../support/native/emulator.ts';
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
