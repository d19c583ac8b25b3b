import { emulatedTests, withDevice } from './emulator.ts';
import { PRELUDE_TESTS } from './prelude-tests.ts';
import { Prober } from './probe.ts';

/** Declares the tests of the kernels' prelude for an emulated GPU. */
export async function testEmulatedPrelude(target: string): Promise<void> {
  const emulated = await emulatedTests(target);
  for (const [name, body] of PRELUDE_TESTS) {
    emulated(name, async (emulator) => {
      const prober = new Prober();
      await withDevice(emulator, (device) => body(device, prober), { kernels: prober.kernels });
    });
  }
}
