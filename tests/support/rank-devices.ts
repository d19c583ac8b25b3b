import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Device } from '../../src/device/index.ts';
import { DeviceGroup, type DeviceGroupOptions, DevicePipeline } from '../../src/devices/group/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { type LanguageModel, loadModel } from '../../src/index.ts';
import { SharedDeviceMemory } from '../../src/load/shared-device-memory.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import type { GoldenOptions } from './golden-tests.ts';

/** Small models are split wherever they can be. */
export const SPLIT_ALL: DeviceGroupOptions = { sharesMemory: true, gatherAtLeast: 1 };

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

/** Opens models on one device for all tests of a file. After the tests the device must hold nothing of them. */
export function onOneDevice(
  openDevice: () => Promise<Device>,
): (path: string, options: GoldenOptions) => Promise<LanguageModel> {
  let opened: Promise<SharedDeviceMemory> | undefined;
  const open = async () => SharedDeviceMemory.open(await openDevice());
  after(async () => {
    if (!opened) return;
    const { device } = await opened;
    assert.equal(device.liveObjects(), 0);
    await device[Symbol.asyncDispose]();
  });
  return async (path, options) => loadModel(path, { ...options, sharedMemory: await (opened ??= open()) });
}

/** A pipeline of so many CPU devices with a thread each. */
export async function cpuStages(stages: number): Promise<DevicePipeline> {
  const one = () => openCpu({ threads: 1, cpuKernels: 'wasm' });
  return new DevicePipeline(await Promise.all(Array.from({ length: stages }, one)));
}
