import assert from 'node:assert/strict';
import { after } from 'node:test';
import { type LanguageModel, loadModel } from '../../src/index.ts';
import { SharedDeviceMemory } from '../../src/load/shared-device-memory.ts';
import { type NodeCpuOptions, openCpu } from '../../src/node/open-cpu.ts';
import type { GoldenOptions } from './golden-tests.ts';

/**
 * Opens models on one CPU device for all tests of a file, because starting its threads takes ten times as long as a
 * small model's computation. After the tests the device must hold nothing of them.
 */
export function onOneCpu(
  options: NodeCpuOptions = {},
): (path: string, options: GoldenOptions) => Promise<LanguageModel> {
  let opened: Promise<SharedDeviceMemory> | undefined;
  const open = async () => SharedDeviceMemory.open(await openCpu(options));
  after(async () => {
    if (!opened) return;
    const { device } = await opened;
    assert.equal(device.liveObjects(), 0);
    await device[Symbol.asyncDispose]();
  });
  return async (path, of) => loadModel(path, { ...of, sharedMemory: await (opened ??= open()) });
}
