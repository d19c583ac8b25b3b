import assert from 'node:assert/strict';
import { LanguageModel } from '../../../src/index.ts';
import { ALL_ARCHITECTURES } from '../../../src/model/architectures/index.ts';
import { modelOptionsOf } from '../../../src/node/load-model.ts';
import { openAdapters } from '../../../src/node/open-adapters.ts';
import { openGguf } from '../../../src/node/open-gguf.ts';
import { FAMILY_FIXTURES, type FamilyFixture, hasOthersKernels } from '../family-fixtures.ts';
import { testGoldensOf, testModelsOn } from '../family-tests.ts';
import {
  type GoldenDevice,
  type GoldenOptions,
  testAllLogits,
  testFloatGoldens,
  testQuantizedGoldens,
} from '../golden-tests.ts';
import type { Device } from '../../../src/device/index.ts';
import { DeviceGroup, DevicePipeline } from '../../../src/devices/group/index.ts';
import { openCpu } from '../../../src/node/open-cpu.ts';
import { SPLIT_ALL } from '../rank-devices.ts';
import { type Emulator, emulatedTests } from './emulator.ts';
import { familiesNamed } from '../named.ts';

/** Declares the goldens' tests for an emulated GPU. */
export async function testEmulatedGoldens(target: string): Promise<void> {
  const device = await emulatedDevice(target);
  testAllLogits(device);
  testFloatGoldens(device);
  testQuantizedGoldens(device);
}

/**
 * Declares the tests of architectures' random models for an emulated GPU, except those that others represent; of some of them alone
 * if `deal` takes some, and then without what models can do besides.
 */
export async function testEmulatedFamilies(
  target: string,
  deal?: (families: readonly FamilyFixture[]) => readonly FamilyFixture[],
): Promise<void> {
  const device = await emulatedDevice(target);
  const families = FAMILY_FIXTURES.filter((family) => !hasOthersKernels(family));
  testGoldensOf(deal?.(families) ?? families, device);
  if (!deal) testModelsOn(device);
}

/** Declares the tests of some architectures' random models for several emulated GPUs, which compute together over a link. */
export async function testEmulatedRanks(
  target: string,
  ranks: number,
  names: readonly string[],
  link: 'peer' | 'nccl' = 'peer',
): Promise<void> {
  const device = await emulatedDevice(target, ranks, link);
  testGoldensOf(familiesNamed(names), device);
}

/** Stages of a pipeline of emulated GPUs, and the architectures that are tested on them. */
export interface EmulatedStages {
  /** How many GPUs each stage has; 0 for the CPU. */
  readonly stages: readonly number[];
  readonly names: readonly string[];
}

/**
 * Architectures for a stage beside the CPU that `npm test` leaves out: latent attention, two recurrent hybrids, RWKV, and one whose layers
 * read the caches of earlier ones.
 */
export const BESIDE_CPU: readonly string[] = ['deepseek2', 'granitehybrid', 'qwen35', 'rwkv7', 'gemma3n'];

/** Declares the tests of some architectures' random models for pipelines of emulated GPUs and the CPU. */
export async function testEmulatedStages(
  target: string,
  pipelines: readonly EmulatedStages[],
): Promise<void> {
  const cardsOf = (stages: readonly number[]) => stages.reduce((sum, ranks) => sum + ranks, 0);
  const emulated = await emulatedTests(target, Math.max(...pipelines.map(({ stages }) => cardsOf(stages))));
  let current: Emulator | undefined;
  const stageOf = async (ranks: number, behind: number) =>
    ranks === 0 ? openCpu({ threads: 1, cpuKernels: 'wasm' }) : devicesOf(current as Emulator, ranks, behind);
  for (const { stages, names } of pipelines) {
    const device: GoldenDevice = {
      name: `stages of ${stages.join(' + ')} emulated GPUs`,
      exact: true,
      open: async (path, options) => {
        const devices = stages.map((ranks, stage) => stageOf(ranks, cardsOf(stages.slice(0, stage))));
        return openOn(new DevicePipeline(await Promise.all(devices)), path, options);
      },
      declare: (name, body) =>
        emulated(name, async (emulator) => {
          current = emulator;
          await body();
        }),
    };
    testGoldensOf(familiesNamed(names), device);
  }
}

/** Declares the tests of the remaining architectures. */
export async function testOtherEmulatedFamilies(target: string): Promise<void> {
  testGoldensOf(FAMILY_FIXTURES.filter(hasOthersKernels), await emulatedDevice(target));
}

async function emulatedDevice(
  target: string,
  cards = 1,
  link: 'peer' | 'nccl' = 'peer',
): Promise<GoldenDevice> {
  const emulated = await emulatedTests(target, cards);
  let current: Emulator | undefined;
  return {
    name: cards === 1 ? 'the emulated GPU' : `${cards} emulated GPUs (${link})`,
    exact: true,
    open: async (path, options) => openOn(devicesOf(current as Emulator, cards, 0, link), path, options),
    declare: (name, body) =>
      emulated(name, async (emulator) => {
        current = emulator;
        await body();
        // Several compute together and cut out their shards themselves, not through the host.
        const collective = link === 'nccl' ? 'ncclAllReduce' : 'hipDeviceEnablePeerAccess';
        const own = [collective, 'hipMemcpy2DAsync'];
        if (cards > 1) for (const call of own) assert.ok(emulator.control.calls(call) > 0, call);
      }),
  };
}

/** Steps have few rows, because an emulated step takes as long for unused ones. */
const MAX_ROWS = 48;
const ROWS = 8;

function devicesOf(emulator: Emulator, cards: number, first = 0, link: 'peer' | 'nccl' = 'peer'): Device {
  const rccl = link === 'nccl';
  const devices = Array.from({ length: cards }, (_, card) => emulator.device({ card: first + card, rccl }));
  return cards === 1 ? (devices[0] as Device) : new DeviceGroup(devices, { ...SPLIT_ALL, link });
}

/** Opens a model on a device, which it disposes unless `sharesDevice`. */
export async function openOn(
  device: Device,
  path: string,
  { sharesDevice = false, ...options }: GoldenOptions & { readonly sharesDevice?: boolean },
): Promise<LanguageModel> {
  const gguf = await openGguf(path);
  const adapters = await openAdapters(gguf, options);
  const parts = { gguf, device, sharesDevice, ...adapters, architectures: ALL_ARCHITECTURES };
  const { batch = ROWS } = options;
  const rows = batch > MAX_ROWS ? ROWS : batch;
  return LanguageModel.open(parts, { ...modelOptionsOf(options), batch: rows, logitRows: rows });
}
