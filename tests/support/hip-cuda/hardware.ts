import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { wholeOf } from '../../../src/device/index.ts';
import { LanguageModel } from '../../../src/index.ts';
import {
  cudaDriver,
  DriverLibrary,
  hipDriver,
  HIP_CUDA_KERNELS,
  type HipCudaDevice,
} from '../../../src/devices/hip-cuda/index.ts';
import { ALL_ARCHITECTURES } from '../../../src/model/architectures/index.ts';
import type { NativePlaces } from '../../../src/node/driver-libraries.ts';
import type { NodeHipCudaPlatform } from '../../../src/node/hip-cuda-platform.ts';
import { modelOptionsOf } from '../../../src/node/load-model.ts';
import { openAdapters } from '../../../src/node/open-adapters.ts';
import { openGguf } from '../../../src/node/open-gguf.ts';
import { testDeviceContract } from '../contract/index.ts';
import { checkCase } from '../contract/operators.ts';
import { FAULT_CASE } from '../device-loss.ts';
import { testFamilies } from '../family-tests.ts';
import { testAdapterChanges } from '../lora-tests.ts';
import { testStates } from '../state-tests.ts';
import { type GoldenDevice, testAllLogits, testFloatGoldens, testQuantizedGoldens } from '../golden-tests.ts';
import { openTestPlatform } from './emulator.ts';
import { HARDWARE_TESTS } from './hardware-tests.ts';
import { LARGE_PRODUCTS } from './large-products.ts';
import { Polynomial } from './polynomial.ts';
import { PRELUDE_TESTS } from './prelude-tests.ts';
import { Prober } from './probe.ts';
import { openedDevice } from './opened-device.ts';

/** The drivers' tables of calls. */
export const DRIVER_TABLES = { hip: hipDriver, cuda: cudaDriver } as const;

/** Rows from which products by weights of 16 bits round activations: AMD's matrix cores split rows of f16 only, and fewer. */
const ROUNDS_FROM = { hip: 5, cuda: 33 } as const;

/**
 * Declares all tests for a GPU of this machine: the device contract, the additional hardware tests, the kernels'
 * prelude and the goldens, including every architecture's. Skipped, with the driver's reason, if there is no GPU.
 */
export async function testHardware(
  driver: 'hip' | 'cuda',
  { name = driver, ...places }: NativePlaces & { readonly name?: string } = {},
): Promise<void> {
  const platform = await openTestPlatform(
    places.compiler ? { compilers: { [driver]: places.compiler } } : {},
  );
  after(() => platform[Symbol.asyncDispose]());
  const library = openLibrary(driver, platform, places);
  if ('reason' in library) {
    test(`HIP and CUDA device: ${name}`, { skip: library.reason }, () => {});
    return;
  }
  const open = (kernels = HIP_CUDA_KERNELS): HipCudaDevice =>
    openedDevice({ library, ordinal: 0, platform, kernels });
  testDeviceContract(name, async () => open(), { roundsFrom: ROUNDS_FROM[driver] });
  testBeyondContract(name, open);
  const device: GoldenDevice = {
    name,
    exact: true,
    open: async (path, options) => {
      const gguf = await openGguf(path);
      const adapters = await openAdapters(gguf, options);
      const openFile = (location: string) => openGguf(location);
      const parts = { gguf, device: open(), ...adapters, openFile, architectures: ALL_ARCHITECTURES };
      return LanguageModel.open(parts, modelOptionsOf(options));
    },
  };
  testAllLogits(device);
  testFloatGoldens(device);
  testQuantizedGoldens(device);
  testFamilies(device);
  testAdapterChanges(device);
  testStates({
    name,
    rows: 12,
    options: { deterministic: true },
    declare: (claim, work) =>
      void test(claim, async () => {
        await using own = open();
        await work(own);
      }),
  });
}

function openLibrary(
  driver: 'hip' | 'cuda',
  platform: NodeHipCudaPlatform,
  places: NativePlaces,
): DriverLibrary | { reason: string } {
  try {
    return new DriverLibrary(platform.ffi, DRIVER_TABLES[driver], places.driver);
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

/** Large enough that the driver unmaps it at once. */
export const UNMAPPED_BYTES = 256 << 20;

/**
 * Declares what must hold after a kernel fault has ended the driver's context: in a separate process, because the fault
 * is final for it.
 */
export async function testFault(driver: 'hip' | 'cuda'): Promise<void> {
  const platform = await openTestPlatform({});
  after(() => platform[Symbol.asyncDispose]());
  const library = openLibrary(driver, platform, {});
  const skip = 'reason' in library ? library.reason : false;
  test(`${driver}: ${FAULT_CASE.name}`, { skip }, () =>
    FAULT_CASE.run(async () => {
      if ('reason' in library) throw new Error(library.reason);
      const device = openedDevice({ library, ordinal: 0, platform, kernels: HIP_CUDA_KERNELS });
      const polynomial = await Polynomial.on(device, UNMAPPED_BYTES);
      return { device, lose: () => polynomial.fault() };
    }),
  );
}

function testBeyondContract(
  device: string,
  open: (kernels?: typeof HIP_CUDA_KERNELS) => HipCudaDevice,
): void {
  for (const [name, body] of HARDWARE_TESTS) {
    test(`${device}: ${name}`, async () => {
      await using device = open();
      await body(device);
    });
  }
  for (const of of LARGE_PRODUCTS) {
    test(`${device}: ${of.name}`, async () => {
      await using opened = open();
      await checkCase(opened, of, {});
    });
  }
  test(`${device}: a device that is open twice outlives its twin`, async () => {
    await using stays = open();
    const leaves = open();
    using buffer = stays.createBuffer(1 << 20, 'stays');
    await leaves[Symbol.asyncDispose]();
    await using stream = stays.createStream('stays');
    stream.upload(new Uint8Array(1 << 20).fill(3), wholeOf(buffer));
    const back = new Uint8Array(1 << 20);
    await stream.download(wholeOf(buffer), back);
    assert.ok(back.every((byte) => byte === 3));
  });
  for (const [name, body] of PRELUDE_TESTS) {
    test(`${device}: ${name}`, async () => {
      const prober = new Prober();
      await using device = open(prober.kernels);
      await body(device, prober);
    });
  }
}
