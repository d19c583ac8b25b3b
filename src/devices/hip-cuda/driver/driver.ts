import { fail, RocmforgeError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Address, MemoryInfo } from '../../../device/index.ts';
import type { DeviceAttributes, LaunchShape, PageAccess, RowCopy, Status } from './driver-calls.ts';
import type { DriverLibrary } from './driver-library.ts';
import { hintFor, isLost, NOT_READY, OUT_OF_MEMORY, SUCCESS } from './driver-status.ts';

/** What a `Driver` reports to its owner. */
export interface DriverOptions {
  readonly ordinal: number;
  readonly logger: Logger;
  /** Called with the error of a status after which the device cannot be used any more. */
  onLost(error: Error): void;
}

/**
 * One device's driver calls. Every status except success becomes a typed error: `OUT_OF_MEMORY`, `DEVICE_LOST`,
 * `DRIVER_CALL`. With `--log trace`, every copy, launch, event and wait is logged. Calls enqueue work and return,
 * unless documented to wait.
 */
export class Driver {
  readonly device: string;
  readonly library: DriverLibrary;
  readonly #options: DriverOptions;
  readonly #tracing: boolean;
  readonly #faults = new Set<() => string | undefined>();
  #abandoned: Error | undefined;

  constructor(library: DriverLibrary, options: DriverOptions) {
    this.library = library;
    this.device = `${library.api}:${options.ordinal}`;
    this.#options = options;
    this.#tracing = options.logger.enabled('trace');
  }

  /** Initializes the device for the process; `release` undoes it. */
  retain(): void {
    this.#check('retain device', this.library.retain(this.#options.ordinal));
  }

  release(): void {
    this.#checkRelease('release device', this.library.release(this.#options.ordinal));
  }

  /** Whether a recorded step has run on the device, whoever opened it. */
  get hasRun(): boolean {
    return this.library.hasRun(this.#options.ordinal);
  }

  /** Its number among the driver's devices. */
  get ordinal(): number {
    return this.#options.ordinal;
  }

  /** Makes this device the current one for calls of other libraries. */
  use(): void {
    void this.#calls;
  }

  /**
   * Gives the device up: from now on, every call but releases throws `DEVICE_LOST`. For what the driver does not notice, as when a peer
   * that kernels wait for has ended.
   */
  abandon(why: string): void {
    if (this.#abandoned) return;
    this.#abandoned = new RocmforgeError('DEVICE_LOST', { device: this.device, why });
    this.#options.onLost(this.#abandoned);
  }

  /** Asks `fault` whenever something was waited for, until disposed, and abandons the device when it gives a reason. */
  watch(fault: () => string | undefined): Disposable {
    this.#faults.add(fault);
    return { [Symbol.dispose]: () => void this.#faults.delete(fault) };
  }

  name(): string {
    this.#check('device name', this.library.calls.deviceName(this.#options.ordinal));
    return this.library.results.text();
  }

  busId(): string {
    this.#check('PCI bus id', this.library.calls.busId(this.#options.ordinal));
    return this.library.results.text();
  }

  /** Bytes of the device's memory, known before the device is initialized. */
  totalMemory(): number {
    this.#check('total memory', this.library.calls.totalMemory(this.#options.ordinal));
    return this.library.results.pointer();
  }

  target(): string {
    const { status, name } = this.library.calls.target(this.#options.ordinal);
    this.#check('device target', status);
    return name;
  }

  attribute(which: keyof DeviceAttributes): number {
    this.#check(`attribute ${which}`, this.library.calls.attribute(which, this.#options.ordinal));
    return this.library.results.int();
  }

  /** Whether kernels of this device can be given access to the memory of the driver's device number `peer`. */
  canAccessPeer(peer: number): boolean {
    this.#check('peer access', this.library.calls.canAccessPeer(this.#options.ordinal, peer));
    return this.library.results.int() !== 0;
  }

  /** What connects this device with the driver's device number `peer`. */
  peerLink(peer: number): string {
    const { status, name } = this.library.calls.peerLink(this.#options.ordinal, peer);
    this.#check('link to peer', status);
    return name;
  }

  /** Gives kernels of this device access to the memory of an initialized peer, until `disablePeer`. */
  enablePeer(peer: Driver): void {
    this.#trace('enable peer access', { peer: peer.device });
    this.use();
    this.#check('enable peer access', this.library.enablePeer(peer.ordinal));
  }

  disablePeer(peer: Driver): void {
    this.#trace('disable peer access', { peer: peer.device });
    void this.#releaseCalls;
    this.#checkRelease('disable peer access', this.library.disablePeer(peer.ordinal));
  }

  memoryInfo(): MemoryInfo {
    this.#check('memory info', this.#calls.memoryInfo());
    const { results } = this.library;
    return { free: results.pointer(0), total: results.pointer(1) };
  }

  allocate(bytes: number, label: string): Address {
    return this.#memory('allocate', this.#calls.allocate(bytes), { bytes, label });
  }

  /** Memory that peers' kernels may write while kernels of this device read it. */
  allocateShared(bytes: number, label: string): Address {
    return this.#memory('allocate shared', this.#calls.allocateShared(bytes), { bytes, label });
  }

  free(address: Address): void {
    this.#trace('free', { address });
    this.#checkRelease('free', this.#releaseCalls.free(address));
  }

  /** Pinned memory that kernels read and write at the same address; `freePinned` frees it. */
  allocatePinned(bytes: number, label: string): Address {
    return this.#memory('allocate pinned', this.#calls.allocatePinned(bytes), { bytes, label });
  }

  freePinned(address: Address): void {
    this.#trace('free pinned', { address });
    this.#checkRelease('free pinned', this.#releaseCalls.freePinned(address));
  }

  /** Whether read-only pages can be pinned. */
  get pinsReadOnly(): boolean {
    return this.library.calls.pinsReadOnly(this.#options.ordinal);
  }

  /** Pins memory that belongs to something else, until `unpin`. */
  pin(address: Address, bytes: number, access: PageAccess): void {
    this.#trace('pin', { address, bytes, access });
    this.#check('pin', this.#calls.pin(address, bytes, access));
  }

  unpin(address: Address): void {
    this.#trace('unpin', { address });
    this.#checkRelease('unpin', this.#releaseCalls.unpin(address));
  }

  /** Copies from host memory, which must not change until the copy is done. */
  upload(to: Address, from: Address, bytes: number, stream: Address): void {
    this.#trace('upload', { to, bytes, stream });
    this.#check('upload', this.#calls.upload(to, from, bytes, stream));
  }

  /** Copies rows that are parts of longer ones from host memory, like `upload`. */
  uploadRows(to: Address, from: Address, of: RowCopy, stream: Address): void {
    this.#trace('upload rows', { to, ...of, stream });
    this.#check('upload rows', this.#calls.uploadRows(to, from, of, stream));
  }

  /** Copies into host memory. */
  download(to: Address, from: Address, bytes: number, stream: Address): void {
    this.#trace('download', { from, bytes, stream });
    this.#check('download', this.#calls.download(to, from, bytes, stream));
  }

  copy(to: Address, from: Address, bytes: number, stream: Address): void {
    this.#trace('copy', { to, from, bytes, stream });
    this.#check('copy', this.#calls.copy(to, from, bytes, stream));
  }

  fill(to: Address, byte: number, bytes: number, stream: Address): void {
    this.#trace('fill', { to, byte, bytes, stream });
    this.#check('fill', this.#calls.fill(to, byte, bytes, stream));
  }

  createStream(label: string): Address {
    return this.#handle('create stream', this.#calls.createStream(), { label });
  }

  destroyStream(stream: Address): void {
    this.#trace('destroy stream', { stream });
    this.#checkRelease('destroy stream', this.#releaseCalls.destroyStream(stream));
  }

  /** True when everything queued is done. */
  queryStream(stream: Address): boolean {
    return this.#ready('query stream', this.#calls.queryStream(stream));
  }

  /** Waits. */
  synchronizeStream(stream: Address): void {
    this.#trace('synchronize stream', { stream });
    this.#check('synchronize stream', this.#calls.synchronizeStream(stream));
    this.#checkFaults();
  }

  waitEvent(stream: Address, event: Address): void {
    this.#trace('wait for event', { stream, event });
    this.#check('wait for event', this.#calls.waitEvent(stream, event));
  }

  createEvent(): Address {
    return this.#handle('create event', this.#calls.createEvent(), {});
  }

  destroyEvent(event: Address): void {
    this.#trace('destroy event', { event });
    this.#checkRelease('destroy event', this.#releaseCalls.destroyEvent(event));
  }

  recordEvent(event: Address, stream: Address): void {
    this.#trace('record event', { event, stream });
    this.#check('record event', this.#calls.recordEvent(event, stream));
  }

  /** True when the recorded point is reached. */
  queryEvent(event: Address): boolean {
    return this.#ready('query event', this.#calls.queryEvent(event));
  }

  /** Waits. */
  synchronizeEvent(event: Address): void {
    this.#trace('synchronize event', { event });
    this.#check('synchronize event', this.#calls.synchronizeEvent(event));
    this.#checkFaults();
  }

  /** Milliseconds between two reached events; negative if `to` came first. */
  elapsed(from: Address, to: Address): number {
    this.#check('elapsed time', this.#calls.elapsed(from, to));
    return this.library.results.float();
  }

  loadModule(image: Address, label: string): Address {
    return this.#handle('load module', this.#calls.loadModule(image), { label });
  }

  unloadModule(module: Address): void {
    this.#trace('unload module', { module });
    this.#checkRelease('unload module', this.#releaseCalls.unloadModule(module));
  }

  kernel(module: Address, name: string): Address {
    return this.#handle(`find kernel ${name}`, this.#calls.function(module, name), { module });
  }

  allowSharedBytes(kernel: Address, bytes: number): void {
    this.#check('allow shared memory', this.#calls.allowSharedBytes(kernel, bytes));
  }

  preferShared(kernel: Address, percent: number): void {
    this.#check('prefer shared memory', this.#calls.preferShared(kernel, percent));
  }

  /** `parameters` points to pointers to the arguments, whose values the call copies. */
  launch(
    kernel: { handle: Address; name: string },
    shape: LaunchShape,
    stream: Address,
    parameters: Address,
  ): void {
    this.#trace('launch', { kernel: kernel.name, ...shape, stream });
    const status = this.#calls.launch(shape, kernel.handle, stream, parameters);
    if (status !== SUCCESS) this.#check(`launch ${kernel.name}`, status);
  }

  beginCapture(stream: Address): void {
    this.#trace('begin capture', { stream });
    this.#check('begin capture', this.#calls.beginCapture(stream));
  }

  endCapture(stream: Address): Address {
    return this.#handle('end capture', this.#calls.endCapture(stream), { stream });
  }

  instantiate(graph: Address): Address {
    this.library.runs(this.#options.ordinal);
    return this.#handle('instantiate graph', this.#calls.instantiate(graph), { graph });
  }

  launchGraph(executable: Address, stream: Address): void {
    this.#trace('launch graph', { executable, stream });
    this.#check('launch graph', this.#calls.launchGraph(executable, stream));
  }

  destroyGraph(graph: Address): void {
    this.#checkRelease('destroy graph', this.#releaseCalls.destroyGraph(graph));
  }

  destroyExecutable(executable: Address): void {
    this.#trace('destroy graph', { executable });
    this.#checkRelease('destroy graph', this.#releaseCalls.destroyExecutable(executable));
  }

  /** The calls, with this device as the current one. */
  get #calls() {
    if (this.#abandoned) throw this.#abandoned;
    const { ordinal } = this.#options;
    if (this.library.current !== ordinal) this.#check('use device', this.library.use(ordinal));
    return this.library.calls;
  }

  /** The calls that release something, which a lost device's objects need as well. */
  get #releaseCalls() {
    const { ordinal } = this.#options;
    if (this.library.current !== ordinal) this.#checkRelease('use device', this.library.use(ordinal));
    return this.library.calls;
  }

  #memory(call: string, status: Status, of: { bytes: number; label: string }): Address {
    if (status === OUT_OF_MEMORY) {
      const { free } = this.memoryInfo();
      fail('OUT_OF_MEMORY', { device: this.device, what: of.label, bytes: of.bytes, free });
    }
    return this.#handle(call, status, of);
  }

  #handle(call: string, status: Status, facts: Readonly<Record<string, unknown>>): Address {
    this.#check(call, status);
    const handle = this.library.results.pointer();
    this.#trace(call, { ...facts, handle });
    return handle;
  }

  #ready(call: string, status: Status): boolean {
    if (status === NOT_READY) return false;
    this.#check(call, status);
    this.#checkFaults();
    return true;
  }

  #check(call: string, status: Status): void {
    if (status === SUCCESS) return;
    const text = this.library.calls.describe(status);
    if (!isLost(status)) {
      fail('DRIVER_CALL', { device: this.device, call, status, text, hint: hintFor(status) });
    }
    try {
      fail('DEVICE_LOST', { device: this.device, why: `${call} returned status ${status}, ${text}` });
    } catch (error) {
      this.#options.onLost(error as Error);
      throw error;
    }
  }

  #checkFaults(): void {
    for (const fault of this.#faults) {
      const why = fault();
      if (why === undefined) continue;
      this.abandon(why);
      throw this.#abandoned;
    }
  }

  /** The resources of a lost device are gone already. */
  #checkRelease(call: string, status: Status): void {
    if (!isLost(status)) this.#check(call, status);
  }

  #trace(call: string, facts: Readonly<Record<string, unknown>>): void {
    if (this.#tracing) this.#options.logger.trace(`${this.device} ${call}`, facts);
  }
}
