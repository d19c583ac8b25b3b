import { after, test } from 'node:test';
import {
  cudaDriver,
  DriverLibrary,
  type DriverTable,
  hipDriver,
  NATIVE_KERNELS,
  type NativeDevice,
  openNativeDevice,
} from '../../src/devices/native/index.ts';
import { testDeviceContract } from '../support/contract/index.ts';
import { openTestPlatform } from '../support/native/emulator.ts';
import { HARDWARE_TESTS } from '../support/native/hardware-tests.ts';
import { PRELUDE_TESTS } from '../support/native/prelude-tests.ts';
import { Prober } from '../support/native/probe.ts';

/** The native device on the machine's own GPUs; skipped, with the driver's reason, where there is none. */
const platform = await openTestPlatform({});
after(() => platform[Symbol.asyncDispose]());

for (const table of [hipDriver, cudaDriver]) {
  const library = openLibrary(table);
  if (library instanceof DriverLibrary) testHardware(library);
  else test(`native device: ${table.api}`, { skip: library.reason }, () => {});
}

function openLibrary(table: DriverTable): DriverLibrary | { reason: string } {
  try {
    return new DriverLibrary(platform.ffi, table);
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

function testHardware(library: DriverLibrary): void {
  const open = (kernels = NATIVE_KERNELS): NativeDevice =>
    openNativeDevice({ library, ordinal: 0, platform, kernels });
  testDeviceContract(library.api, async () => open());
  for (const [name, body] of HARDWARE_TESTS) {
    test(`${library.api}: ${name}`, async () => {
      await using device = open();
      await body(device);
    });
  }
  for (const [name, body] of PRELUDE_TESTS) {
    test(`${library.api}: ${name}`, async () => {
      const prober = new Prober();
      await using device = open(prober.kernels);
      await body(device, prober);
    });
  }
}
