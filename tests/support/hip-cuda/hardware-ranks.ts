import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { DeviceGroup } from '../../../src/devices/group/index.ts';
import { HIP_CUDA_KERNELS, type HipCudaDevice } from '../../../src/devices/hip-cuda/index.ts';
import { LanguageModel } from '../../../src/index.ts';
import { ALL_ARCHITECTURES } from '../../../src/model/architectures/index.ts';
import { modelOptionsOf } from '../../../src/node/load-model.ts';
import { openGguf } from '../../../src/node/open-gguf.ts';
import { FAMILY_FIXTURES } from '../family-fixtures.ts';
import { testGoldensOf } from '../family-tests.ts';
import { fixture } from '../fixture.ts';
import { checkGroupCycles } from '../group-cycles.ts';
import { FAULT_CASE, MANY_TEXTS_CASE } from '../device-loss.ts';
import { type GoldenDevice, testAllLogits, testFloatGoldens, testQuantizedGoldens } from '../golden-tests.ts';
import { logitsOf } from '../prompt-chunk-tests.ts';
import { SPLIT_ALL } from '../rank-devices.ts';
import { openTestPlatform } from './emulator.ts';
import { hangingGroup } from './hanging-group.ts';
import { UNMAPPED_BYTES } from './hardware.ts';
import { LINK_TESTS } from './link-tests.ts';
import { openedDevice } from './opened-device.ts';
import { Polynomial } from './polynomial.ts';
import { openSeveral } from './several-gpus.ts';

/** The most GPUs over which models are split here. */
const MOST_RANKS = 4;

/**
 * Declares the tests of several GPUs of this machine that see each other's memory: what they compute together, and every
 * architecture's golden over all of them, up to four. Skipped, with the reason, if there are not two.
 */
export async function testHardwareRanks(driver: 'hip' | 'cuda'): Promise<void> {
  const platform = await openTestPlatform({});
  after(() => platform[Symbol.asyncDispose]());
  const library = openSeveral(driver, platform);
  if ('reason' in library) {
    test(`several GPUs: ${driver}`, { skip: library.reason }, () => {});
    return;
  }
  const card = (ordinal: number): HipCudaDevice =>
    openedDevice({ library, ordinal, platform, kernels: HIP_CUDA_KERNELS });
  const count = Math.min(MOST_RANKS, library.deviceCount);
  for (const [name, ranks, body] of LINK_TESTS) {
    const skip = ranks > count && `there are ${count} GPUs`;
    test(`${driver}: ${name}`, { skip }, () => body(card, ranks));
  }
  for (let ranks = 2; ranks <= count; ranks++) testDeterminism(driver, card, ranks);
  const cards = () => Array.from({ length: count }, (_, ordinal) => card(ordinal));
  test(`${driver}: a card of ${count} hangs: ${MANY_TEXTS_CASE.name}`, () =>
    MANY_TEXTS_CASE.run(async () => hangingGroup(cards())));
  test(`${driver}: a hundred groups of ${count} cards come and go, each with a model`, () =>
    checkGroupCycles({ groups: 100, open: cards }));
  const device = groupDevice(`${count} GPUs (${driver})`, card, count);
  testGoldensOf(FAMILY_FIXTURES, device);
  testAllLogits(device);
  testFloatGoldens(device);
  testQuantizedGoldens(device);
}

/**
 * Declares what must hold after a kernel's fault has ended the driver's contexts in the middle of many texts over several GPUs:
 * in a process of its own, because the fault is final for it.
 */
export async function testRanksFault(driver: 'hip' | 'cuda'): Promise<void> {
  const platform = await openTestPlatform({});
  after(() => platform[Symbol.asyncDispose]());
  const library = openSeveral(driver, platform);
  const skip = 'reason' in library ? library.reason : false;
  test(`${driver}, the last of several GPUs: ${FAULT_CASE.name}`, { skip }, () =>
    FAULT_CASE.run(async () => {
      if ('reason' in library) throw new Error(library.reason);
      const count = Math.min(MOST_RANKS, library.deviceCount);
      const cards = Array.from({ length: count }, (_, ordinal) =>
        openedDevice({ library, ordinal, platform, kernels: HIP_CUDA_KERNELS }),
      );
      const polynomial = await Polynomial.on(cards.at(-1) as HipCudaDevice, UNMAPPED_BYTES);
      return { device: new DeviceGroup(cards, SPLIT_ALL), lose: () => polynomial.fault() };
    }),
  );
}

/** Devices that are opened for each model anew, as a group. */
function groupDevice(name: string, card: (ordinal: number) => HipCudaDevice, ranks: number): GoldenDevice {
  return {
    name,
    exact: true,
    open: async (path, options) => {
      const devices = Array.from({ length: ranks }, (_, ordinal) => card(ordinal));
      const device = ranks === 1 ? (devices[0] as HipCudaDevice) : new DeviceGroup(devices, SPLIT_ALL);
      const openFile = (location: string) => openGguf(location);
      const parts = { gguf: await openGguf(path), device, openFile, architectures: ALL_ARCHITECTURES };
      return LanguageModel.open(parts, modelOptionsOf(options));
    },
  };
}

/** A deterministic model gives on several GPUs the bits of one. */
function testDeterminism(driver: string, card: (ordinal: number) => HipCudaDevice, ranks: number): void {
  test(`${driver}: a deterministic model over ${ranks} GPUs gives the bits of one`, async () => {
    const options = { context: 32, batch: 16, logitRows: 4, deterministic: true } as const;
    const ids = [1, 5, 9, 3, 7, 2, 11, 4];
    const found: Float32Array[][] = [];
    for (const count of [1, ranks]) {
      await using model = await groupDevice(driver, card, count).open(
        fixture('families/llama.gguf'),
        options,
      );
      found.push(await logitsOf(model, ids));
    }
    assert.deepEqual(found[1], found[0]);
  });
}
