import type { WasmModule } from '../../base/web-types.ts';
import { fail, RocmforgeError } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/log.ts';
import {
  checkByteLength,
  type Device,
  type DeviceInfo,
  type Executable,
  LiveObjects,
  type MemoryInfo,
  type MemoryRules,
  memoryRules,
  type Program,
  type Step,
  type Stream,
  type WorkerHost,
} from '../../device/index.ts';
import type { OpGraph } from '../../ops/index.ts';
import { CpuStep } from './host/cpu-step.ts';
import { CpuStream, type StreamContext } from './host/cpu-stream.ts';
import { TRANSFER_BYTES, TransferSlots } from './host/transfer-slots.ts';
import { WorkQueue } from './host/work-queue.ts';
import { WorkerTeam } from './host/worker-team.ts';
import {
  chooseKernels,
  chooseNative,
  type ComingNative,
  type KernelBytes,
  type KernelChoice,
  type NativeChoice,
  type NativeOffer,
} from './kernel-choice.ts';
import { type BankLimits, MAX_BANK, reserveBank } from './memory/bank.ts';
import { BankSet } from './memory/bank-set.ts';
import { CpuBuffer, ownBuffer } from './memory/cpu-buffer.ts';
import type { NativeBuild } from './native/native-kernels.ts';
import { buildStep } from './program/build-step.ts';
import { CpuExecutable, CpuProgram } from './program/cpu-program.ts';
import { MAX_WORKERS } from './protocol/control.ts';
import { reservedBytes } from './protocol/reserved.ts';
import { type LayoutTable, layoutsOf } from './weight-layouts.ts';

/** How a CPU device is opened, and how it may be restricted. */
export interface CpuDeviceOptions {
  /** Starts the workers; each must run `runCpuWorker`. */
  readonly host: WorkerHost;
  /** The compiled kernels, with and without relaxed SIMD. */
  readonly kernels: KernelBytes;
  /** Native kernels; their workers must be given an FFI. Default: none. */
  readonly native?: NativeOffer | undefined;
  /** Native kernels to change to as soon as they are made, between two steps. Default: none. */
  readonly nativeLater?: ComingNative | undefined;
  /** Receives what is said of native kernels. Default: none. */
  readonly logger?: Logger | undefined;
  /** Number of worker threads. Default: the host's physical cores. */
  readonly threads?: number | undefined;
  /** False uses baseline SIMD; otherwise relaxed SIMD is used if the runtime supports it and computes correctly. */
  readonly relaxed?: boolean | undefined;
  /** Maximum total size of buffers in bytes. Default: unlimited. */
  readonly memoryLimit?: number | undefined;
  /** Called with the memory of weights before anything is written to it, to ask the system for large pages. Default: nothing. */
  readonly largePages?: ((bytes: Uint8Array) => void) | undefined;
  /** The processor's name, for display. */
  readonly name?: string | undefined;
  /** Bytes per bank, for tests of models that span several. Default 4 GiB. */
  readonly bankBytes?: number | undefined;
  /** Number of banks that buffers are distributed over, for tests of operands in different banks. Default 1. */
  readonly spread?: number | undefined;
}

/** Bytes of each bank that buffers leave free, for operands copied from other banks. */
const STAGING_BYTES = 256 * 1024 * 1024;

/**
 * Opens the CPU: WebAssembly SIMD kernels on worker threads over shared memory, and native ones in place of those that there are. The calling thread only queues work; it
 * never computes or blocks. Throws `INVALID_ARGUMENT` for invalid options, and `DEVICE_UNAVAILABLE` if the runtime
 * lacks WebAssembly SIMD or threads.
 */
export async function openCpuDevice(options: CpuDeviceOptions): Promise<Device> {
  const threads = options.threads ?? options.host.threads;
  if (!Number.isInteger(threads) || threads < 1 || threads > MAX_WORKERS) {
    fail('INVALID_ARGUMENT', { name: 'threads', found: `${threads}`, expected: `1 to ${MAX_WORKERS}` });
  }
  const choice = await chooseKernels(options);
  return new CpuDevice(options, { ...choice, threads });
}

/** The results of `openCpuDevice`. */
interface Opened extends KernelChoice {
  readonly threads: number;
}

class CpuDevice implements Device {
  readonly lost: Promise<Error>;
  readonly memoryRules: MemoryRules;
  readonly #live = new LiveObjects('device cpu');
  readonly #team: WorkerTeam;
  readonly #queue: WorkQueue;
  readonly #banks: BankSet;
  readonly #streams: StreamContext;
  readonly #layouts: LayoutTable;
  readonly #name: string;
  readonly #simd: string;
  #coming: ComingNative | undefined;
  /** Callers that wait for the kernels to come. */
  #waiting = 0;
  /** Resolves when no other kernels will come. */
  readonly #settled: Promise<void>;
  #kernels: string;
  #nextStep = 0;

  constructor(options: CpuDeviceOptions, opened: Opened) {
    const { threads, module, native, nativeLater } = opened;
    this.#name = options.name ?? 'CPU';
    this.#simd = opened.simd;
    this.#coming = nativeLater;
    this.#layouts = layoutsOf(opened);
    this.#kernels = native ? `native ${native.variant}` : 'wasm';
    let tellLost: (error: Error) => void = () => {};
    this.lost = new Promise((resolve) => {
      tellLost = resolve;
    });
    this.#team = new WorkerTeam(options.host, threads, {
      onDone: () => this.#queue.poll(),
      onLost: (error) => {
        this.#queue.lose(error);
        tellLost(error);
        void this.#team.terminate();
      },
    });
    this.#queue = new WorkQueue(this.#team);
    this.#team.start({ kernels: module, native, nativeLater: nativeLater !== undefined });
    const reserved = reservedBytes(opened.heapBase, threads);
    const { limits, bank: first } = reserveBank(options.bankBytes ?? MAX_BANK, (byteLength) =>
      bankLimits(byteLength, reserved),
    );
    this.#banks = new BankSet({
      limits,
      first,
      memoryLimit: options.memoryLimit ?? Number.MAX_SAFE_INTEGER,
      spread: options.spread ?? 1,
      onBank: ({ id, memory }) => this.#team.announce({ kind: 'bank', id, memory }),
    });
    this.memoryRules = memoryRules({ own: () => TRANSFER_BYTES, largestBuffer: this.#banks.largestRange });
    this.#streams = this.#streamContext(options.largePages);
    this.#settled = this.#changeKernels(module, options.logger ?? silentLogger);
  }

  get info(): DeviceInfo {
    const details = { threads: this.#team.threads, kernels: this.#kernels, simd: this.#simd };
    return { backend: 'cpu', name: this.#name, details };
  }

  async settle(): Promise<void> {
    this.#waiting++;
    this.#coming?.hold(true);
    await this.#settled;
    if (--this.#waiting === 0) this.#coming?.hold(false);
  }

  async memory(): Promise<MemoryInfo> {
    this.#live.check();
    return this.#banks.info();
  }

  createBuffer(byteLength: number, label: string): CpuBuffer {
    this.#live.check();
    checkByteLength(byteLength);
    const allocation = this.#banks.allocate(byteLength, label);
    const released = (buffer: CpuBuffer) => this.#live.remove(buffer);
    return this.#live.add(new CpuBuffer(label, allocation, { banks: this.#banks, released }));
  }

  createPinned(byteLength: number, label: string): CpuBuffer {
    return this.createBuffer(byteLength, label);
  }

  createStream(label: string): Stream {
    this.#live.check();
    return this.#live.add(new CpuStream(label, this.#streams));
  }

  rowCapacities(rows: number): readonly number[] {
    return [rows];
  }

  async compile(graph: OpGraph): Promise<Program> {
    this.#live.check();
    const { threads } = this.#team;
    return new CpuProgram(graph, { banks: this.#banks, threads, layouts: this.#layouts });
  }

  async record(executables: readonly Executable[], label: string): Promise<Step> {
    this.#live.check();
    const own = executables.map((executable) => this.#own(executable, label));
    const { threads } = this.#team;
    const { table, staging } = buildStep(own, { banks: this.#banks, threads, label });
    const id = this.#nextStep++;
    this.#team.announce({ kind: 'step', id, table });
    const released = (step: CpuStep) => {
      this.#live.remove(step);
      this.#queue.push({
        issue: () => {
          this.#team.drop(id);
          return true;
        },
        abandon: () => {},
      });
    };
    return this.#live.add(new CpuStep(label, { id, banks: this.#banks, staging, released }));
  }

  liveObjects(): number {
    return this.#live.count;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#live.disposeAll();
    await this.#team.terminate();
    this.#queue.lose(new RocmforgeError('DISPOSED', { what: 'device cpu' }));
    this.#banks.clear();
  }

  /** Takes the native kernels that are still to come, the first of them whose results are right. */
  async #changeKernels(module: WasmModule, logger: Logger): Promise<void> {
    if (!this.#coming) return;
    const wasm = this.#kernels;
    this.#kernels = `${wasm} until native ones are compiled`;
    const taken = await this.#rightKernels(module, logger).catch((error: unknown) => {
      logger.warn('native kernels are not used', { reason: String(error) });
      return undefined;
    });
    this.#kernels = wasm;
    if (this.#queue.lost) return;
    this.#team.announce({ kind: 'native', build: taken });
    if (!taken) return;
    this.#kernels = `native ${taken.variant}`;
    logger.debug('native kernels run from here on', { variant: taken.variant });
  }

  async #rightKernels(module: WasmModule, logger: Logger): Promise<NativeBuild | undefined> {
    let choice: NativeChoice = { nativeLater: this.#coming };
    while (choice.nativeLater) {
      const coming = choice.nativeLater;
      this.#coming = coming;
      coming.hold(this.#waiting > 0);
      const build = await coming.built;
      choice = build
        ? await chooseNative(module, { native: { ...coming, build, required: false } }, logger)
        : {};
    }
    return choice.native;
  }

  #own(executable: Executable, label: string): CpuExecutable {
    const use = { graph: label, value: 'executable', banks: this.#banks };
    for (const buffer of executable.buffers) ownBuffer(buffer, use);
    if (executable instanceof CpuExecutable && executable.program.isOf(this.#banks)) return executable;
    const found = 'an executable of another device';
    return fail('BINDING', { graph: label, value: 'executable', found, expected: 'one of this device' });
  }

  #streamContext(largePages: CpuDeviceOptions['largePages']): StreamContext {
    const banks = this.#banks;
    const advised = new WeakSet<CpuBuffer>();
    return {
      willHoldWeights: (buffer) => {
        if (!largePages || advised.has(buffer)) return;
        advised.add(buffer);
        largePages(buffer.bytes);
      },
      queue: this.#queue,
      banks,
      slots: new TransferSlots(banks),
      view: ({ bank, offset }, byteLength) => banks.bytes(bank, offset, byteLength),
      released: (stream) => this.#live.remove(stream),
    };
  }
}

/** Small banks reserve less for staging, so that banks in tests have room for buffers. */
function bankLimits(byteLength: number, reserved: number): BankLimits {
  const stagingBytes = Math.min(STAGING_BYTES, Math.floor((byteLength - reserved) / 4));
  return { byteLength, reservedBytes: reserved, stagingBytes };
}
