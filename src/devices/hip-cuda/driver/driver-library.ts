import { fail } from '../../../base/errors.ts';
import type { Ffi } from '../../../device/index.ts';
import type { DriverCalls, Status } from './driver-calls.ts';
import { hintFor, INVALID_DEVICE, NO_DEVICE, PEER_ACCESS_ALREADY_ENABLED, SUCCESS } from './driver-status.ts';
import type { DriverTable } from './driver-table.ts';
import { ResultSpace } from './result-space.ts';

/** A driver's library, loaded and started. Its devices share it, and with it the thread's current device. */
export class DriverLibrary {
  readonly api: DriverTable['api'];
  /** The file that was loaded. */
  readonly file: string;
  readonly version: string;
  readonly deviceCount: number;
  readonly calls: DriverCalls;
  readonly results: ResultSpace;
  #current: number | undefined;
  /** Initialized devices, by ordinal. */
  readonly #ready = new Map<number, { users: number; hasRun: boolean }>();
  /** Peers that a device was given access to, by the two ordinals. */
  readonly #peers = new Map<string, { users: number; isOurs: boolean }>();

  /**
   * Throws `LIBRARY_NOT_FOUND`, `SYMBOL_NOT_FOUND`, and `DEVICE_UNAVAILABLE` with the driver's message if it fails to
   * start.
   */
  constructor(ffi: Ffi, table: DriverTable, libraries: readonly string[] = table.libraries) {
    const library = ffi.open(libraries);
    this.api = table.api;
    this.file = library.name;
    this.results = new ResultSpace(ffi);
    this.calls = table.bind(library, this.results);
    this.#start('initialization', this.calls.init());
    this.#start('the count of devices', this.calls.deviceCount());
    this.deviceCount = this.results.int();
    this.#start('the version', this.calls.version());
    this.version = table.formatVersion(this.results.int());
  }

  /** The current device of this thread. */
  get current(): number | undefined {
    return this.#current;
  }

  use(ordinal: number): Status {
    const status = this.calls.use(ordinal);
    this.#current = status === SUCCESS ? ordinal : undefined;
    return status;
  }

  /** Initializes a device for the process, once however often it is opened. */
  retain(ordinal: number): Status {
    const status = this.calls.retain(ordinal);
    const known = this.#ready.get(ordinal) ?? { users: 0, hasRun: false };
    if (status === SUCCESS) this.#ready.set(ordinal, { ...known, users: known.users + 1 });
    return status;
  }

  /** Undoes `retain`. */
  release(ordinal: number): Status {
    this.#current = undefined;
    const known = this.#ready.get(ordinal);
    if (known && --known.users === 0) this.#ready.delete(ordinal);
    return this.calls.release(ordinal);
  }

  /** Gives the current device access to a peer's memory, once however often it is asked for. */
  enablePeer(peer: number): Status {
    const key = `${this.#current}:${peer}`;
    const known = this.#peers.get(key);
    if (known) {
      known.users++;
      return SUCCESS;
    }
    const status = this.calls.enablePeer(peer);
    // Another library in this process may have done it, for itself.
    const isForeign = status === PEER_ACCESS_ALREADY_ENABLED;
    if (status !== SUCCESS && !isForeign) return status;
    this.#peers.set(key, { users: 1, isOurs: !isForeign });
    return SUCCESS;
  }

  /** Undoes `enablePeer`. */
  disablePeer(peer: number): Status {
    const key = `${this.#current}:${peer}`;
    const known = this.#peers.get(key);
    if (!known || --known.users > 0) return SUCCESS;
    this.#peers.delete(key);
    return known.isOurs ? this.calls.disablePeer(peer) : SUCCESS;
  }

  /**
   * Whether something has run on a device since it was initialized: the driver has then already allocated its own
   * memory.
   */
  hasRun(ordinal: number): boolean {
    return this.#ready.get(ordinal)?.hasRun ?? false;
  }

  /** Records that something runs. */
  runs(ordinal: number): void {
    const known = this.#ready.get(ordinal);
    if (known) known.hasRun = true;
  }

  #start(what: string, status: Status): void {
    if (status === SUCCESS) return;
    // Without a GPU, HIP reports an invalid device index.
    const hint = hintFor(status === INVALID_DEVICE ? NO_DEVICE : status);
    const why = `${what} returned status ${status}, ${this.calls.describe(status)}; ${hint}`;
    fail('DEVICE_UNAVAILABLE', { device: this.api, why });
  }
}
