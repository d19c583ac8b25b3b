import { emulatedTests, withDevice } from '../support/native/emulator.ts';
import { PRELUDE_TESTS } from '../support/native/prelude-tests.ts';
import { Prober } from '../support/native/probe.ts';

const emulated = await emulatedTests('gfx942');

for (const [name, body] of PRELUDE_TESTS) {
  emulated(name, async (emulator) => {
    const prober = new Prober();
    await withDevice(emulator, (device) => body(device, prober), { kernels: prober.kernels });
  });
}
