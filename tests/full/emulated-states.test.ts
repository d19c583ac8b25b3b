import { emulatedTests, withDevice } from '../support/hip-cuda/emulator.ts';
import { testStates } from '../support/state-tests.ts';

const emulated = await emulatedTests('gfx1100');

testStates({
  name: 'an emulated GPU',
  rows: 12,
  brevity: 0.4,
  options: { deterministic: true },
  declare: (claim, work) => emulated(claim, (emulator) => withDevice(emulator, work)),
});
