import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { type Logger, silentLogger } from '../../../src/base/log.ts';
import { DeviceGroup } from '../../../src/devices/group/index.ts';
import { openHipCuda } from '../../../src/node/open-hip-cuda.ts';
import { openWorkers } from '../../../src/node/open-workers.ts';
import { buildEmulator, findCompiler } from '../emulator/build-emulator.ts';
import { testGoldensOf } from '../family-tests.ts';
import type { GoldenDevice } from '../golden-tests.ts';
import { SPLIT_ALL } from '../rank-devices.ts';
import { temporaryFolder } from '../temporary.ts';
import { openOn } from './emulated-goldens.ts';
import { familiesNamed } from '../named.ts';

/** Why there are no emulated GPUs, or false. */
const compiler = findCompiler();
export const NO_EMULATOR: string | false = 'reason' in compiler ? compiler.reason : false;

/**
 * Has this process and those that it starts find an emulated driver with so many cards, its compiler and its RCCL, as if ROCm were
 * installed.
 */
export async function installEmulator(target: string, cards: number): Promise<void> {
  assert.ok('command' in compiler);
  const folder = dirname((await buildEmulator(compiler.command)).hip);
  const root = temporaryFolder({ after });
  symlinkSync(folder, join(root, 'lib'));
  const cache = join(folder, 'cache');
  mkdirSync(cache, { recursive: true });
  Object.assign(process.env, {
    ROCM_PATH: root,
    XDG_CACHE_HOME: cache,
    EMULATOR_TARGET: target,
    EMULATOR_DEVICES: String(cards),
  });
}

/** Files that ranks of the emulated RCCL share which this process has named. */
export function sharedFiles(): string[] {
  return ['/dev/shm', '/tmp'].flatMap((folder) => {
    try {
      return readdirSync(folder).filter((name) => name.startsWith(`emulated-rccl-${process.pid}-`));
    } catch {
      return [];
    }
  });
}

/** The first card and each of the others in a process of its own, by RCCL; `lines` are what is said of links. */
export async function emulatedProcessRanks(ranks: number, lines: string[] = []): Promise<DeviceGroup> {
  const keep = (message: string, fields: object = {}) => {
    if (message.includes('linked')) lines.push(`${message}: ${JSON.stringify(fields)}`);
  };
  const logger: Logger = { ...silentLogger, enabled: () => true, debug: keep, info: keep };
  const others = Array.from({ length: ranks - 1 }, (_, other) => `process=hip:${other + 1}`);
  const [own, workers] = await Promise.all([
    openHipCuda({ driver: 'hip', index: 0, logger }),
    openWorkers(others, { request: {}, session: 'a test' }),
  ]);
  return new DeviceGroup([own, ...workers], { ...SPLIT_ALL, link: 'nccl', logger });
}

/** Declares the tests of some architectures' random models for emulated GPUs of several processes. */
export async function testEmulatedProcessRanks(
  target: string,
  ranks: number,
  names: readonly string[],
): Promise<void> {
  const families = familiesNamed(names);
  const device: GoldenDevice = {
    name: `${ranks} emulated GPUs of as many processes`,
    exact: true,
    open: async (path, options) => openOn(await opened(), path, { ...options, sharesDevice: true }),
  };
  if (NO_EMULATOR !== false) {
    const skip = NO_EMULATOR;
    testGoldensOf(families, { ...device, declare: (name) => void test(name, { skip }, () => {}) });
    return;
  }
  await installEmulator(target, ranks);
  const lines: string[] = [];
  let group: Promise<DeviceGroup> | undefined;
  const opened = () => (group ??= emulatedProcessRanks(ranks, lines));
  testGoldensOf(families, device);
  after(async () => {
    const device = await group;
    assert.ok(device);
    assert.equal(device.liveObjects(), 0);
    await device[Symbol.asyncDispose]();
    assert.match(lines.join('\n'), new RegExp(`devices are linked: .*"by":"RCCL .*"ranks":${ranks}`));
    assert.deepEqual(sharedFiles(), []);
  });
}
