import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Device } from '../../src/device/index.ts';
import { DeviceGroup, type DeviceGroupOptions, DevicePipeline } from '../../src/devices/group/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel, loadModel } from '../../src/index.ts';
import { SharedDeviceMemory } from '../../src/load/shared-device-memory.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { modelOptionsOf } from '../../src/node/load-model.ts';
import { openAdapters } from '../../src/node/open-adapters.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { openGguf } from '../../src/node/open-gguf.ts';
import type { GoldenOptions } from './golden-tests.ts';

/** Small models are split wherever they can be. */
export const SPLIT_ALL: DeviceGroupOptions = { gatherAtLeast: 1 };

/** A group of so many CPU devices with a thread each. */
export async function cpuRanks(ranks: number): Promise<DeviceGroup> {
  const one = () => openCpu({ threads: 1, cpuKernels: 'wasm' });
  return new DeviceGroup(await Promise.all(Array.from({ length: ranks }, one)), SPLIT_ALL);
}

/** A group of so many reference devices. */
export function referenceRanks(ranks: number): DeviceGroup {
  return new DeviceGroup(
    Array.from({ length: ranks }, () => openReferenceDevice()),
    SPLIT_ALL,
  );
}

/** Opens a model on a device for a golden. */
type OpenGolden = (path: string, options: GoldenOptions) => Promise<LanguageModel>;

/** Opens models on one device, whose memory they share, for all tests of a file. After the tests the device must hold nothing of them. */
export function onOneDevice(openDevice: () => Promise<Device>): OpenGolden {
  const opened = onceForAll(async () => SharedDeviceMemory.open(await openDevice()));
  return async (path, options) => loadModel(path, { ...options, sharedMemory: await opened() });
}

/** The same on a pipeline, whose memory cannot be shared: tests open their models one behind another. */
export function onOnePipeline(openDevice: () => Promise<DevicePipeline>): OpenGolden {
  const opened = onceForAll(async () => ({ device: await openDevice() }));
  return async (path, options) => {
    const { device } = await opened();
    const gguf = await openGguf(path);
    const parts = { gguf, device, sharesDevice: true, ...(await openAdapters(gguf, options)) };
    return LanguageModel.open({ ...parts, architectures: ALL_ARCHITECTURES }, modelOptionsOf(options));
  };
}

/** Opens on first use what has a device, which must hold nothing after the tests. */
function onceForAll<T extends { readonly device: Device }>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | undefined;
  after(async () => {
    if (!opened) return;
    const { device } = await opened;
    assert.equal(device.liveObjects(), 0);
    await device[Symbol.asyncDispose]();
  });
  return async () => await (opened ??= open());
}

/** A pipeline of so many CPU devices with a thread each. */
export async function cpuStages(stages: number): Promise<DevicePipeline> {
  const one = () => openCpu({ threads: 1, cpuKernels: 'wasm' });
  return new DevicePipeline(await Promise.all(Array.from({ length: stages }, one)));
}
