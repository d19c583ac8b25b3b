import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import type { Logger } from '../../../src/base/log.ts';
import { silentLogger } from '../../../src/base/log.ts';
import {
  DriverLibrary,
  type DriverTable,
  hipDriver,
  type KernelSet,
  HIP_CUDA_KERNELS,
  type HipCudaDevice,
} from '../../../src/devices/hip-cuda/index.ts';
import { KERNEL_FOLDER } from '../../../src/node/file-kernel-texts.ts';
import { loadKoffiFfi } from '../../../src/node/koffi-ffi.ts';
import {
  type HipCudaPlatformOptions,
  type NodeHipCudaPlatform,
  openHipCudaPlatform,
} from '../../../src/node/hip-cuda-platform.ts';
import { buildEmulator, findCompiler } from '../emulator/build-emulator.ts';
import { PROJECT_ROOT } from '../project.ts';
import { openedDevice } from './opened-device.ts';

/** Kernels that only tests use, in addition to the package's. */
export const TEST_KERNEL_FOLDER = join(PROJECT_ROOT, 'tests/support/hip-cuda/kernels');

/** The driver statuses that tests make the emulator return. */
export const STATUS = {
  outOfMemory: 2,
  invalidHandle: 400,
  illegalAddress: 700,
  launchResources: 701,
  launchFailure: 719,
} as const;

/** The kinds of objects that an emulated driver tracks. */
export type LiveKind = 'buffers' | 'pinned' | 'streams' | 'events' | 'modules' | 'graphs' | 'executables';

const KINDS: readonly LiveKind[] = [
  'buffers',
  'pinned',
  'streams',
  'events',
  'modules',
  'graphs',
  'executables',
];

/** The emulator's control interface for tests: see `control.cpp`. */
interface Control {
  failCall(call: string, nth: number, status: number): void;
  calls(call: string): number;
  setMemory(bytes: number): void;
  refuseInnerReads(): void;
  /** Loses card `card`, the first one by default. */
  lose(status: number, card?: number): void;
  /** Refuses kernels of card `card` access to the peer's memory. */
  denyPeer(card: number, peer: number): void;
  /** Whether kernels of card `card` have access to the peer's memory now. */
  reaches(card: number, peer: number): boolean;
  reset(): void;
  live(kind: string): number;
  why(card?: number): string;
  /** Communicators of the emulated RCCL that were not ended. */
  communicators(): number;
  /** The communicators of a card find an error: 6 is that of a rank that ended. */
  failCommunicator(card: number, error: number): void;
  /** The emulated RCCL says that it is of another release, as 21805; 0 for its own. */
  pretendRelease(version: number): void;
}

/** Options for opening an emulated device. */
export interface EmulatedDeviceOptions {
  readonly kernels?: KernelSet;
  readonly logger?: Logger;
  /** Whether the driver can pin read-only pages, as CUDA's can. Default: false, as in HIP. */
  readonly pinsReadOnly?: boolean;
  /** Whether products may use the emulated BLAS library. Default: false. */
  readonly blas?: boolean;
  /** Whether the emulated RCCL can be found. Default: false. */
  readonly rccl?: boolean;
  /** Which card. Default: the first. */
  readonly card?: number;
}

/** The emulated driver of this process: one GPU or several, of the kind and number that are opened first. */
export class Emulator implements AsyncDisposable {
  readonly library: DriverLibrary;
  readonly control: Control;
  readonly platform: NodeHipCudaPlatform;
  /** Paths of its run-time compiler. */
  readonly compilers: { readonly hip: readonly string[] };
  /** The path of its BLAS library. */
  readonly blas: string;
  /** The path of its RCCL. */
  readonly rccl: string;

  private constructor(
    of: Pick<Emulator, 'library' | 'control' | 'platform' | 'compilers' | 'blas' | 'rccl'>,
  ) {
    this.library = of.library;
    this.control = of.control;
    this.platform = of.platform;
    this.compilers = of.compilers;
    this.blas = of.blas;
    this.rccl = of.rccl;
  }

  /** `target`: `gfx1100` (wave32), `gfx942` (wave64), ... */
  static async open(target: string, cards = 1): Promise<Emulator> {
    const compiler = findCompiler();
    if ('reason' in compiler) throw new Error(compiler.reason);
    const { hip, hiprtc, blas, rccl, kernels: cacheFolder } = await buildEmulator(compiler.command);
    process.env.EMULATOR_TARGET = target;
    process.env.EMULATOR_DEVICES = String(cards);
    const compilers = { hip: [hiprtc] };
    const platform = await openTestPlatform({ cacheFolder, compilers });
    const ffi = await loadKoffiFfi();
    const own = ffi.open([hip]);
    const collectives = ffi.open([rccl]);
    const why = own.bind('emulatorWhy', 'address', ['i32']);
    const lose = own.bind('emulatorLose', 'void', ['i32', 'i32']);
    const reaches = own.bind('emulatorReaches', 'i32', ['i32', 'i32']);
    const control: Control = {
      failCall: own.bind('emulatorFailCall', 'void', ['text', 'i32', 'i32']),
      calls: own.bind('emulatorCalls', 'i32', ['text']),
      setMemory: own.bind('emulatorSetMemory', 'void', ['size']),
      refuseInnerReads: own.bind('emulatorRefuseInnerReads', 'void', []),
      lose: (status, card = 0) => lose(card, status),
      denyPeer: own.bind('emulatorDenyPeer', 'void', ['i32', 'i32']),
      reaches: (card, peer) => reaches(card, peer) !== 0,
      reset: own.bind('emulatorReset', 'void', []),
      live: own.bind('emulatorLive', 'i32', ['text']),
      why: (card = 0) => ffi.text(why(card)),
      communicators: collectives.bind('emulatorCommunicators', 'i32', []),
      failCommunicator: collectives.bind('emulatorFailCommunicator', 'void', ['i32', 'i32']),
      pretendRelease: collectives.bind('emulatorPretend', 'void', ['i32']),
    };
    const library = new DriverLibrary(ffi, hipDriver, [hip]);
    return new Emulator({ library, control, platform, compilers, blas, rccl });
  }

  device({
    kernels = HIP_CUDA_KERNELS,
    logger = silentLogger,
    blas,
    rccl,
    pinsReadOnly,
    card: ordinal = 0,
  }: EmulatedDeviceOptions = {}): HipCudaDevice {
    const { platform } = this;
    const library = pinsReadOnly ? this.#pinning : this.library;
    // The machine's own libraries would not work with the emulated driver.
    const blasLibraries = blas ? [this.blas] : [];
    const collectiveLibraries = [rccl ? this.rccl : 'absent.so'];
    return openedDevice({ library, ordinal, platform, kernels, logger, blasLibraries, collectiveLibraries });
  }

  get #pinning(): DriverLibrary {
    const { bind } = hipDriver;
    const table: DriverTable = {
      ...hipDriver,
      bind: (...of) => ({ ...bind(...of), pinsReadOnly: () => true }),
    };
    return new DriverLibrary(this.platform.ffi, table, [this.library.file]);
  }

  /** The number of live objects of each kind; kinds without any are left out. */
  live(): Partial<Record<LiveKind, number>> {
    return Object.fromEntries(
      KINDS.map((kind) => [kind, this.control.live(kind)] as const).filter(([, count]) => count !== 0),
    );
  }

  /** Why an emulated card was lost, in its own words. */
  why(card = 0): string {
    return this.control.why(card);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.platform[Symbol.asyncDispose]();
  }
}

/** Node's platform, with the tests' kernels in addition to the package's. */
export function openTestPlatform(options: HipCudaPlatformOptions): Promise<NodeHipCudaPlatform> {
  return openHipCudaPlatform({ kernelFolders: [KERNEL_FOLDER, TEST_KERNEL_FOLDER], ...options });
}

/** Declares a test that gets the emulator, with all earlier settings reset. */
export type EmulatedTest = (
  name: string,
  body: (emulator: Emulator, t: TestContext) => Promise<void>,
) => void;

/**
 * Opens the emulator for a test file. If it cannot be built, its tests are skipped with the reason; every test must
 * leave the driver without objects.
 */
export async function emulatedTests(target: string, cards = 1): Promise<EmulatedTest> {
  const compiler = findCompiler();
  if ('reason' in compiler) return (name) => void test(name, { skip: compiler.reason }, () => {});
  const emulator = await Emulator.open(target, cards);
  after(() => emulator[Symbol.asyncDispose]());
  return (name, body) => {
    test(`${target}: ${name}`, async (t) => {
      emulator.control.reset();
      await body(emulator, t);
      emulator.control.reset();
      assert.deepEqual(emulator.live(), {});
      assert.equal(emulator.control.communicators(), 0);
    });
  };
}

/** Runs with a new device, which is disposed afterwards. */
export async function withDevice(
  emulator: Emulator,
  body: (device: HipCudaDevice) => Promise<void>,
  options: EmulatedDeviceOptions = {},
): Promise<void> {
  const device = emulator.device(options);
  try {
    await body(device);
  } finally {
    await device[Symbol.asyncDispose]();
  }
}
