import { fail, invariant, isRocmforgeError, RocmforgeError } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/log.ts';
import {
  type Address,
  buffersOf,
  checkByteLength,
  type DequantizedFacts,
  type Device,
  type DeviceInfo,
  type Executable,
  type Ffi,
  LiveObjects,
  type MemoryInfo,
  type MemoryRules,
  type PackedWeight,
  type PeerLink,
  type PeerPlace,
  type Program,
  type Step,
  unaskedCopyBytes,
} from '../../device/index.ts';
import type { TensorFormat } from '../../formats/index.ts';
import type { OpGraph } from '../../ops/index.ts';
import { BlasLibrary } from './launching/blas/blas-library.ts';
import { cudaBlas, hipBlas } from './launching/blas/blas-table.ts';
import { Driver } from './driver/driver.ts';
import type { PageAccess } from './driver/driver-calls.ts';
import type { DriverLibrary } from './driver/driver-library.ts';
import { checkEcho } from './echo.ts';
import type { HipCudaTarget, HipCudaWeight, KernelSet } from './launching/kernel-set.ts';
import { capture, captureAll, type CapturedLaunches, isCollective } from './launching/capture.ts';
import { KernelStore } from './launching/kernel-store.ts';
import { Launcher } from './launching/launcher.ts';
import { type HipCudaExecutable, HipCudaProgram } from './launching/hip-cuda-program.ts';
import { HipCudaStep } from './launching/hip-cuda-step.ts';
import { SMALL_COPY } from './launching/small-copy.ts';
import { HIP_CUDA_MEMORY, HIP_CUDA_MEMORY_WARM } from './memory/memory-rules.ts';
import { HostReads } from './memory/host-reads.ts';
import { HipCudaBuffer } from './memory/hip-cuda-buffer.ts';
import { allocatePinned, type HipCudaPinned, pinForeign } from './memory/hip-cuda-pinned.ts';
import { PinnedViews } from './memory/pinned-views.ts';
import type { HipCudaPeerLink } from './peers/hip-cuda-peer-link.ts';
import { NcclLink } from './peers/nccl-link.ts';
import { joinLink, type LinkOptions, newLinkId, openLink } from './peers/open-link.ts';
import { StagingPool } from './streams/staging-pool.ts';
import type { HipCudaContext } from './streams/hip-cuda-context.ts';
import { Opening } from './opening.ts';
import type { HipCudaPlatform, Scheduler } from './platform.ts';
import { CompletionPoller } from './streams/completion-poller.ts';
import { EventPool } from './streams/event-pool.ts';
import { HipStream } from './streams/hip-stream.ts';
import { Timeline } from './streams/timeline.ts';

/** Which GPU to open, and its dependencies. */
export interface HipCudaDeviceOptions {
  readonly library: DriverLibrary;
  readonly ordinal: number;
  readonly platform: HipCudaPlatform;
  readonly kernels: KernelSet;
  readonly logger?: Logger;
  /** Where to search for the driver's BLAS library, instead of the usual places. */
  readonly blasLibraries?: readonly string[] | undefined;
  /** Where to search for NCCL or RCCL, instead of the usual places. */
  readonly collectiveLibraries?: readonly string[] | undefined;
  /** Disposed after the device. */
  readonly owned?: AsyncDisposable;
}

/** What links devices that are here. */
type OwnLink = HipCudaPeerLink | NcclLink<CapturedLaunches>;

/** Row capacities for which a step is recorded separately. */
const ROW_CAPACITIES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/** What fills a GPU of so many multiprocessors, which no smaller one needs. */
const LARGE = { multiprocessors: 64, promptRows: 2048 } as const;

/**
 * A GPU under HIP or CUDA, created by `describeHipCudaDevice`. Until `open` has been called, only `compile` may be
 * called, which waits for it.
 */
export class HipCudaDevice implements Device {
  readonly info: DeviceInfo;
  /** @internal */
  readonly target: Omit<HipCudaTarget, 'blas' | 'peers'>;
  readonly lost: Promise<Error>;
  /** Pinned memory is all devices' of a driver. */
  readonly packsCuts = true;
  readonly pinReadOnly: ((bytes: Uint8Array, label: string) => HipCudaPinned) | undefined;
  readonly #kernels: KernelSet;
  readonly #context: HipCudaContext;
  readonly #timeline: Timeline;
  readonly #store: KernelStore;
  readonly #launcher: Launcher;
  /** Large: loaded while the first graphs are recorded. */
  readonly #blas: Promise<BlasLibrary | undefined>;
  readonly #created = new WeakSet<Disposable>();
  readonly #pinned = new PinnedViews();
  /** The weights of the programs that it compiled. */
  readonly #weights = new WeakSet<PackedWeight>();
  readonly #owned: AsyncDisposable | undefined;
  readonly #opening = new Opening();
  readonly #totalMemory: number;
  /** The link that it is a rank of, and its place among the ranks that are here. */
  #linked: { readonly link: OwnLink; readonly place: number } | undefined;
  /** While it is being linked. */
  #linking: Promise<PeerLink | undefined> | undefined;
  readonly #scheduler: Scheduler;
  readonly #collectiveLibraries: readonly string[] | undefined;

  constructor(driver: Driver, lost: Promise<Error>, options: HipCudaDeviceOptions) {
    const { platform, logger = silentLogger, kernels, owned, blasLibraries, collectiveLibraries } = options;
    const { ffi, scheduler } = platform;
    this.#scheduler = scheduler;
    this.#collectiveLibraries = collectiveLibraries;
    const fullTarget = driver.target();
    this.lost = lost;
    this.target = targetOf(driver, fullTarget);
    this.info = infoOf(driver, this.target, fullTarget);
    this.#totalMemory = driver.totalMemory();
    this.#kernels = kernels;
    this.#owned = owned;
    const events = new EventPool(driver);
    this.#context = {
      ffi,
      driver,
      logger,
      live: new LiveObjects(`device ${driver.device}`),
      events,
      poller: new CompletionPoller(scheduler),
      staging: new StagingPool({ driver, ffi, logger }, events),
      reads: new HostReads(driver, logger),
      pinnedOf: (bytes) => this.#pinned.find(bytes),
      owns: (object) => this.#owns(object),
    };
    if (driver.pinsReadOnly) this.pinReadOnly = (bytes, label) => this.#pinForeign(bytes, label, 'read');
    this.#timeline = new Timeline(driver, events);
    const { opened } = this.#opening;
    this.#store = new KernelStore({ driver, ffi, platform, target: this.target, fullTarget, logger, opened });
    this.#launcher = new Launcher({ driver, kernels: this.#store, ffi });
    // Last, so that an error before it leaves nothing in progress.
    this.#blas = openBlas(driver, { ffi, logger, libraries: blasLibraries });
  }

  /**
   * Initializes the device, sends it data and compares what comes back. Throws `DEVICE_UNAVAILABLE`, with which
   * everything that waits rejects; the device is then unusable and should be disposed.
   */
  open(): void {
    const { driver, ffi, logger } = this.#context;
    this.#live.check();
    try {
      driver.retain();
      this.#opening.isRetained = true;
      checkEcho({ driver, ffi, logger });
    } catch (error) {
      this.#release();
      const reason = unavailable(driver, error);
      this.#opening.fail(reason);
      throw reason;
    }
    this.#opening.succeed();
  }

  get memoryRules(): MemoryRules {
    return this.#driver.hasRun ? HIP_CUDA_MEMORY_WARM : HIP_CUDA_MEMORY;
  }

  async memory(): Promise<MemoryInfo> {
    this.#live.check();
    return this.#driver.memoryInfo();
  }

  createBuffer(byteLength: number, label: string): HipCudaBuffer {
    this.#live.check();
    checkByteLength(byteLength);
    const ended = (buffer: HipCudaBuffer) => this.#live.remove(buffer);
    return this.#add(new HipCudaBuffer(this.#driver, byteLength, label, { ended }));
  }

  createHostBuffer(byteLength: number, label: string): HipCudaBuffer {
    this.#live.check();
    checkByteLength(byteLength);
    const ended = (buffer: HipCudaBuffer) => this.#live.remove(buffer);
    return this.#add(new HipCudaBuffer(this.#driver, byteLength, label, { ended, place: 'host' }));
  }

  createPinned(byteLength: number, label: string): HipCudaPinned {
    this.#live.check();
    checkByteLength(byteLength);
    const { ffi, logger } = this.#context;
    const ended = () => this.#unpinned(pinned);
    const pinned = allocatePinned({ driver: this.#driver, ffi, logger, ended }, byteLength, label);
    return this.#add(this.#pinned.add(pinned));
  }

  /**
   * Pins memory of the caller, such as a WebAssembly memory that decoders write, so that it is copied directly. The
   * memory must outlive the pinned buffer. Throws `DRIVER_CALL` if it cannot be pinned.
   */
  pin(bytes: Uint8Array, label: string): HipCudaPinned {
    return this.#pinForeign(bytes, label, 'write');
  }

  createStream(label: string): HipStream {
    this.#live.check();
    const { driver, events, poller } = this.#context;
    const stream = new HipStream(label, {
      context: this.#context,
      events: { driver, events, poller, timeline: this.#timeline },
      ownWeight: (weight) => this.#ownWeight(weight),
      launch: (launches, handle) => this.#launcher.queue(launches, handle),
      copiesSmall: () => this.#store.isLoaded(SMALL_COPY),
      stepFailed: (error) => this.#linked?.link.abort(error),
      ended: (ended) => this.#live.remove(ended),
    });
    return this.#live.add(stream);
  }

  get promptRows(): number | undefined {
    return this.target.multiprocessors >= LARGE.multiprocessors ? LARGE.promptRows : undefined;
  }

  get dequantized(): DequantizedFacts {
    const isLarge = this.target.multiprocessors >= LARGE.multiprocessors;
    return {
      minRows: this.#kernels.copiedRows(this.target),
      maxBytes: isLarge ? unaskedCopyBytes(this.#totalMemory) : 0,
    };
  }

  /**
   * For few rows there are kernels for the exact number; from the matrix cores' tile on, a step costs as much as its
   * capacity.
   */
  rowCapacities(rows: number): readonly number[] {
    return [...ROW_CAPACITIES.filter((capacity) => capacity < rows), rows];
  }

  async compile(graph: OpGraph): Promise<Program> {
    this.#live.check();
    const blas = await this.#blas;
    this.#live.check();
    this.#launcher.useBlas(blas);
    const lowered = this.#kernels.lower(graph, {
      ...this.target,
      blas: blas !== undefined,
      peers: this.#linked && this.#linked.link.ranks[this.#linked.place],
    });
    await this.#store.load([SMALL_COPY, ...lowered.modules]);
    this.#live.check();
    for (const weight of lowered.weights) this.#weights.add(weight);
    return new HipCudaProgram(graph, lowered, (object) => this.#owns(object));
  }

  async readyToDecode(weight: PackedWeight, part: number, format: TensorFormat): Promise<boolean> {
    this.#live.check();
    const module = this.#isOwn(weight) ? weight.decodes?.(part, format) : undefined;
    if (module) await this.#store.load([module]);
    return module !== undefined;
  }

  async record(executables: readonly Executable[], label: string): Promise<Step> {
    const part = (): CapturedLaunches => {
      this.#live.check();
      for (const buffer of buffersOf(executables)) this.#owns(buffer);
      return { driver: this.#driver, launcher: this.#launcher, launches };
    };
    const launches = executables.flatMap((executable) => (executable as HipCudaExecutable).launches);
    const { link, place = 0 } = this.#linked ?? {};
    if (!(link instanceof NcclLink && executables.some(hasCollectives))) {
      return this.#stepOf(capture(part()), label);
    }
    return this.#stepOf(await link.capture(place, part), label, () => link.stepEnded());
  }

  #stepOf(graph: Address, label: string, onEnd = () => {}): HipCudaStep {
    const ended = (step: HipCudaStep) => {
      this.#live.remove(step);
      onEnd();
    };
    return this.#add(new HipCudaStep(label, graph, { driver: this.#driver, ended }));
  }

  async linkPeers(ranks: readonly Device[], options: LinkOptions = {}): Promise<PeerLink | undefined> {
    this.#live.check();
    const devices = ranks.map((rank) => {
      if (rank instanceof HipCudaDevice) return rank;
      return fail('INVALID_ARGUMENT', {
        name: 'ranks',
        found: rank.info.backend,
        expected: `devices of ${this.info.backend}`,
      });
    });
    const linked = devices.map((device) => ({
      driver: device.#driver,
      target: device.target.name,
      multiprocessors: device.target.multiprocessors,
    }));
    return HipCudaDevice.#linkOnce(devices, (ended) =>
      openLink(linked, { ...this.#linkSetup(ended), options }),
    );
  }

  async newPeerId(): Promise<Uint8Array> {
    this.#live.check();
    return newLinkId(this.#driver, this.#linkSetup());
  }

  async joinPeers(place: PeerPlace): Promise<PeerLink> {
    this.#live.check();
    const setup = (ended: () => void) => ({ ...this.#linkSetup(ended), options: {} });
    const link = await HipCudaDevice.#linkOnce([this], (ended) =>
      joinLink(this.#driver, place, setup(ended)),
    );
    invariant(link, 'it is linked or says why not');
    return link;
  }

  #linkSetup(ended = () => {}) {
    const { ffi, logger } = this.#context;
    const [scheduler, libraries] = [this.#scheduler, this.#collectiveLibraries];
    return { ffi, logger, scheduler, libraries, captureAll, ended };
  }

  /** Links devices of this process by what is opened for them, once. */
  static async #linkOnce(
    devices: readonly HipCudaDevice[],
    open: (ended: () => void) => Promise<OwnLink | undefined>,
  ): Promise<PeerLink | undefined> {
    await Promise.all(devices.map((device) => device.#opening.opened));
    invariant(
      devices.every((device) => device.#linking === undefined && device.#linked === undefined),
      'a device is linked once',
    );
    const linking = HipCudaDevice.#linkNow(devices, open);
    for (const device of devices) device.#linking = linking;
    try {
      return await linking;
    } finally {
      for (const device of devices) device.#linking = undefined;
    }
  }

  static async #linkNow(
    devices: readonly HipCudaDevice[],
    open: (ended: () => void) => Promise<OwnLink | undefined>,
  ): Promise<PeerLink | undefined> {
    const link = await open(() => {
      for (const device of devices) device.#linked = undefined;
    });
    if (!link) return undefined;
    try {
      for (const device of devices) device.#live.check();
    } catch (error) {
      await link[Symbol.asyncDispose]();
      throw error;
    }
    for (const [place, device] of devices.entries()) {
      device.#linked = { link, place };
      void device.lost.then((reason) => link.abort(reason));
    }
    return link;
  }

  liveObjects(): number {
    return this.#live.count;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#live.ended) return;
    this.#opening.fail(new RocmforgeError('DISPOSED', { what: `device ${this.#driver.device}` }));
    await this.#live.disposeAll();
    await this.#linking?.catch(() => undefined);
    await this.#linked?.link[Symbol.asyncDispose]();
    this.#context.staging.dispose();
    this.#timeline.dispose();
    this.#context.events.dispose();
    this.#launcher[Symbol.dispose]();
    this.#store[Symbol.dispose]();
    (await this.#blas)?.[Symbol.dispose]();
    this.#release();
    await this.#owned?.[Symbol.asyncDispose]();
  }

  #release(): void {
    if (this.#opening.isRetained) this.#driver.release();
    this.#opening.isRetained = false;
  }

  get #driver(): Driver {
    return this.#context.driver;
  }

  get #live(): LiveObjects {
    return this.#context.live;
  }

  #add<T extends Disposable>(object: T): T {
    this.#created.add(object);
    return this.#live.add(object);
  }

  #pinForeign(bytes: Uint8Array, label: string, access: PageAccess): HipCudaPinned {
    this.#live.check();
    const { ffi, logger } = this.#context;
    const ended = () => this.#unpinned(pinned);
    const parts = { driver: this.#driver, ffi, logger, ended };
    const pinned = pinForeign(parts, bytes, { label, access });
    return this.#add(this.#pinned.add(pinned));
  }

  #isOwn(weight: PackedWeight): weight is HipCudaWeight {
    return this.#weights.has(weight);
  }

  #ownWeight(weight: PackedWeight): HipCudaWeight {
    if (this.#isOwn(weight)) return weight;
    const names = weight.parts.map(({ name }) => name).join(' + ');
    const expected = 'a packed weight of a program that this device compiled';
    const value = `pack of ${names}`;
    return fail('BINDING', { graph: this.#driver.device, value, found: 'another', expected });
  }

  #unpinned(pinned: HipCudaPinned): void {
    this.#pinned.remove(pinned);
    this.#live.remove(pinned);
  }

  #owns(object: Disposable): void {
    this.#live.check();
    if (object instanceof HipCudaStep) void object.executable;
    if (object instanceof HipCudaBuffer) void object.address;
    if (this.#created.has(object)) {
      if ('bytes' in object) void object.bytes;
      return;
    }
    const found = 'an object of another device';
    const expected = 'an object of this device';
    fail('BINDING', { graph: this.#driver.device, value: 'argument', found, expected });
  }
}

/** Whether it runs on this backend and is queued for all ranks at once. */
function hasCollectives(executable: Executable): boolean {
  if (!(executable.program instanceof HipCudaProgram)) return false;
  return (executable as HipCudaExecutable).launches.some(isCollective);
}

function infoOf(
  driver: Driver,
  target: Omit<HipCudaTarget, 'blas' | 'peers'>,
  fullTarget: string,
): DeviceInfo {
  const { api, version, file } = driver.library;
  return {
    backend: api,
    name: driver.name(),
    details: {
      target: fullTarget,
      waveSize: target.waveSize,
      multiprocessors: target.multiprocessors,
      bus: driver.busId(),
      driver: version,
      library: file,
    },
  };
}

function targetOf(driver: Driver, fullTarget: string): Omit<HipCudaTarget, 'blas' | 'peers'> {
  return {
    api: driver.library.api,
    vendor: fullTarget.startsWith('sm_') ? 'nvidia' : 'amd',
    name: fullTarget.split(':')[0] ?? fullTarget,
    multiprocessors: driver.attribute('multiprocessors'),
    waveSize: driver.attribute('waveSize'),
    maxThreadsPerBlock: driver.attribute('maxThreadsPerBlock'),
    sharedBytesOptIn: driver.attribute('sharedBytesOptIn'),
    l2Bytes: driver.attribute('l2Bytes'),
    programmatic: driver.library.api === 'cuda' && Number(/^sm_(\d+)$/.exec(fullTarget)?.[1] ?? 0) >= 90,
  };
}

/** The driver's BLAS library, if it is installed: our own kernels can compute all products as well. */
async function openBlas(
  driver: Driver,
  of: { ffi: Ffi; logger: Logger; libraries: readonly string[] | undefined },
): Promise<BlasLibrary | undefined> {
  const { ffi, logger } = of;
  const table = driver.library.api === 'cuda' ? cudaBlas : hipBlas;
  const { libraries = table.libraries } = of;
  try {
    await ffi.preload(libraries);
    return new BlasLibrary(ffi, { ...table, libraries }, driver);
  } catch (error) {
    logger.debug('large products run on our own kernels', {
      reason: error instanceof Error ? error.message : String(error),
    });
    return undefined;
  }
}

/**
 * A GPU as described by its started driver: `compile` may be called, and `open` once the device is initialized. Throws
 * `DEVICE_UNAVAILABLE` with the reason.
 */
export function describeHipCudaDevice(options: HipCudaDeviceOptions): HipCudaDevice {
  const { library, ordinal, logger = silentLogger } = options;
  if (!Number.isInteger(ordinal) || ordinal < 0 || ordinal >= library.deviceCount) {
    const why = `there are ${library.deviceCount} devices, numbered from 0`;
    fail('DEVICE_UNAVAILABLE', { device: `${library.api}:${ordinal}`, why });
  }
  let onLost: (error: Error) => void = () => {};
  const lost = new Promise<Error>((resolve) => {
    onLost = resolve;
  });
  const driver = new Driver(library, { ordinal, logger, onLost });
  try {
    return new HipCudaDevice(driver, lost, options);
  } catch (error) {
    throw unavailable(driver, error);
  }
}

function unavailable({ device }: Driver, error: unknown): Error {
  const why = isRocmforgeError(error) ? `${error.message}. ${error.fix}` : String(error);
  return new RocmforgeError('DEVICE_UNAVAILABLE', { device, why }, { cause: error });
}
