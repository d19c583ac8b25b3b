import { fail } from '../../../base/errors.ts';
import type { Address, Ffi, NativeLibrary, NativeMemory, PeerPlace } from '../../../device/index.ts';
import type { Scheduler } from '../platform.ts';
import type { NcclTable } from './nccl-table.ts';
import { MAX_LINKED_RANKS } from './peer-rank.ts';

/** `ncclSuccess` and `ncclInProgress`; all between them are errors. */
const SUCCESS = 0;
const IN_PROGRESS = 7;
/** `ncclFloat32`, `ncclSum`. */
const FLOATS = 7;
const SUM = 0;
/** The first release with the fields of `ncclConfig_t` that are set here. */
const OLDEST = 21_800;

const ID_BYTES = 128;
/** `ncclConfig_t` up to `splitShare`, with the field behind it that fills its last eight bytes. */
const CONFIG = { bytes: 48, magic: 0xcafe_beef, undefinedNumber: -0x8000_0000 } as const;
/**
 * Where results, the configuration, an id and communicators are in the native memory. The library may write a rank's communicator again
 * until it is ready.
 */
const PLACE = { result: 0, config: 64, id: 128, communicators: 256 } as const;
const MEMORY_BYTES = PLACE.communicators + 8 * MAX_LINKED_RANKS;

/** Numbers of one rank that are summed over all of them, or that it shows to all of them. */
export type LibraryCollective =
  | { readonly kind: 'allReduce'; readonly from: Address; readonly to: Address; readonly count: number }
  | {
      readonly kind: 'allGather';
      readonly from: Address;
      /** Every rank's numbers, one behind another. */
      readonly to: Address;
      /** By rank. */
      readonly counts: readonly number[];
    };

/** A rank whose device this process has. */
export interface OwnRank {
  readonly rank: number;
  /** Makes its device the thread's current one. */
  use(): void;
}

/** What a rank computes with the others by. */
export interface Communicator extends OwnRank {
  readonly address: Address;
}

/** What a rank computes with the others, on a stream of its own. */
export interface QueuedCollective {
  readonly of: LibraryCollective;
  readonly stream: Address;
}

/** Queues a collective on all ranks of this process, in their order. */
export type QueueCollective = (collectives: readonly QueuedCollective[]) => void;

/** How long communicators may take to find one another, and to do anything else that is asked of them on the host. */
const WAIT_SECONDS = 60;

/**
 * NCCL or RCCL: communicators that do not block, whose work and whose errors are polled. Only their abortion blocks, which has threads of
 * its own. Calls take effect on the driver's current device of the thread.
 */
export class NcclLibrary implements Disposable {
  /** The file that was loaded. */
  readonly file: string;
  readonly #table: NcclTable;
  readonly #ffi: Ffi;
  readonly #calls: ReturnType<typeof bindCalls>;
  readonly #memory: NativeMemory;
  readonly #version: number;

  /**
   * Throws `LIBRARY_NOT_FOUND`, `SYMBOL_NOT_FOUND`, `DRIVER_CALL`, and `DEVICE_UNAVAILABLE` where there is none for this system, or a
   * release that cannot do without blocking.
   */
  constructor(ffi: Ffi, table: NcclTable, libraries: readonly string[] = table.libraries) {
    const { name: device } = table;
    if (libraries.length === 0) {
      fail('DEVICE_UNAVAILABLE', { device, why: 'there is none for this system, only for Linux' });
    }
    const library = ffi.open(libraries);
    this.file = library.name;
    this.#table = table;
    this.#ffi = ffi;
    this.#version = versionOf(ffi, library, table);
    if (this.#version < OLDEST) {
      const why = `${this.description} is too old: ${versionText(OLDEST)} is needed. ${table.advice}`;
      fail('DEVICE_UNAVAILABLE', { device, why });
    }
    this.#calls = bindCalls(library);
    this.#memory = ffi.allocate(MEMORY_BYTES);
  }

  /** Its name, its release and its file. */
  get description(): string {
    return `${this.#table.name} ${versionText(this.#version)} (${this.file})`;
  }

  /** An id by which ranks find one another, through this process, wherever they are. Throws `DRIVER_CALL`. */
  newId(): Uint8Array {
    const { address, bytes } = this.#memory;
    this.#check('GetUniqueId', this.#calls.uniqueId(address + PLACE.id));
    return bytes.slice(PLACE.id, PLACE.id + ID_BYTES);
  }

  /**
   * Begins to create a communicator for each rank of this process, of `ranks` in all of which the others do the same elsewhere. All are
   * ready once `isReady` is true of each. Rejects with `DRIVER_CALL`, leaving none behind.
   */
  async createAll(
    own: readonly OwnRank[],
    { id, ranks }: Pick<PeerPlace, 'id' | 'ranks'>,
  ): Promise<readonly Communicator[]> {
    const { address, view } = this.#memory;
    writeConfig(view);
    const made: Communicator[] = [];
    try {
      this.#grouped(() => {
        for (const [index, of] of own.entries()) {
          of.use();
          const place = PLACE.communicators + 8 * index;
          view.setBigUint64(place, 0n, true);
          const config = address + PLACE.config;
          const status = this.#calls.create(address + place, ranks, { bytes: id }, of.rank, config);
          const communicator = Number(view.getBigUint64(place, true));
          if (communicator !== 0) made.push({ ...of, address: communicator });
          this.#check('CommInitRankConfig', status);
        }
      });
    } catch (error) {
      await this.abortAll(made);
      throw error;
    }
    return made;
  }

  /** Whether a communicator has done what it was last asked for, on the host. Throws `DRIVER_CALL` with its error. */
  isReady({ address }: Communicator): boolean {
    const place = this.#memory.address + PLACE.result;
    this.#check('CommGetAsyncError', this.#calls.asyncError(address, place));
    const status = this.#memory.view.getInt32(PLACE.result, true);
    if (status === IN_PROGRESS) return false;
    this.#check('CommGetAsyncError', status);
    return true;
  }

  /**
   * Queues a collective on all ranks of this process: on each of them what `collectives` says. Waits until all are queued, at first for
   * connections to the others. Throws `DRIVER_CALL`, and `DEVICE_UNAVAILABLE` if that takes longer than `seconds`.
   */
  queue(
    communicators: readonly Communicator[],
    collectives: readonly QueuedCollective[],
    { seconds = WAIT_SECONDS }: { seconds?: number | undefined },
  ): void {
    this.#grouped(() => {
      for (const [index, { of, stream }] of collectives.entries()) {
        const communicator = communicators[index] as Communicator;
        communicator.use();
        this.#queueOn(communicator, { of, stream });
      }
    });
    const last = performance.now() + 1000 * seconds;
    for (const communicator of communicators) {
      while (!this.isReady(communicator)) if (performance.now() > last) this.#refuseToWait(seconds);
    }
  }

  /**
   * Resolves once `isReady` is true of all, which are asked every millisecond. Rejects with `DRIVER_CALL`, and with `DEVICE_UNAVAILABLE`
   * if that takes longer than `seconds`, or with the reason of the signal.
   */
  async ready(
    communicators: readonly Communicator[],
    {
      scheduler,
      seconds = WAIT_SECONDS,
      signal,
    }: { scheduler: Scheduler; seconds?: number | undefined; signal?: AbortSignal | undefined },
  ): Promise<void> {
    const last = performance.now() + 1000 * seconds;
    for (const communicator of communicators) {
      while (!this.isReady(communicator)) {
        signal?.throwIfAborted();
        if (performance.now() > last) this.#refuseToWait(seconds);
        await new Promise<void>((resolve) => scheduler.later(resolve, 1));
      }
    }
  }

  /** Begins to end a communicator, which waits for the others, and for what was queued on it. Throws `DRIVER_CALL`. */
  finalize({ address }: Communicator): void {
    this.#check('CommFinalize', this.#calls.finalize(address));
  }

  /** Frees a communicator that is ready after `finalize`. Throws `DRIVER_CALL`. */
  destroy({ address }: Communicator): void {
    this.#check('CommDestroy', this.#calls.destroy(address));
  }

  /**
   * Ends communicators with all that they have queued, in whatever state they are, without this thread. Resolves when they have ended,
   * for which the last of a process waits until all graphs with collectives are destroyed.
   */
  async abortAll(communicators: readonly Communicator[]): Promise<void> {
    // All at once: this thread may wait for a device next, whose kernels wait for the abortion of another rank.
    await Promise.all(communicators.map(({ address }) => this.#calls.abort(address)));
  }

  [Symbol.dispose](): void {
    this.#memory[Symbol.dispose]();
  }

  #queueOn({ address: communicator, rank }: Communicator, { of, stream }: QueuedCollective): void {
    const calls = this.#calls;
    if (of.kind === 'allReduce') {
      const { from, to, count } = of;
      this.#check('AllReduce', calls.allReduce(from, to, count, FLOATS, SUM, communicator, stream));
      return;
    }
    let to = of.to;
    const own = of.counts[rank] as number;
    for (const [peer, count] of of.counts.entries()) {
      this.#check('Send', calls.send(of.from, own, FLOATS, peer, communicator, stream));
      this.#check('Recv', calls.receive(to, count, FLOATS, peer, communicator, stream));
      to += 4 * count;
    }
  }

  /** Makes calls together, which wait for one another: one rank's alone would wait for those of the others. */
  #grouped(calls: () => void): void {
    this.#check('GroupStart', this.#calls.groupStart());
    let ended: number | undefined;
    try {
      calls();
    } finally {
      // Whatever happened before, the thread's group ends here.
      ended = this.#calls.groupEnd();
    }
    this.#check('GroupEnd', ended);
  }

  #refuseToWait(seconds: number): never {
    const why = `communicators did not answer one another within ${seconds} s`;
    return fail('DEVICE_UNAVAILABLE', { device: this.#table.name, why });
  }

  #check(call: string, status: number): void {
    if (status === SUCCESS || status === IN_PROGRESS) return;
    failCall(this.#table, { call, status, text: this.#ffi.text(this.#calls.describe(status)) });
  }
}

function failCall(
  { name: device }: NcclTable,
  { call, status, text }: { call: string; status: number; text: string },
): never {
  const hint = 'NCCL_DEBUG=INFO in the environment makes the library say more';
  return fail('DRIVER_CALL', { device, call: `nccl${call}`, status, text, hint });
}

/** Its release, of which old ones lack some of the other calls. */
function versionOf(ffi: Ffi, library: NativeLibrary, table: NcclTable): number {
  const version = library.bind('ncclGetVersion', 'i32', ['address']);
  using memory = ffi.allocate(4);
  const status = version(memory.address);
  if (status !== SUCCESS) failCall(table, { call: 'GetVersion', status, text: 'its release is unknown' });
  return memory.view.getInt32(0, true);
}

function writeConfig(view: DataView): void {
  const numbers = [CONFIG.magic, OLDEST, 0, ...[0, 0, 0].map(() => CONFIG.undefinedNumber)];
  view.setBigUint64(PLACE.config, BigInt(CONFIG.bytes), true);
  for (const [i, number] of numbers.entries()) view.setInt32(PLACE.config + 8 + 4 * i, number | 0, true);
  // No name of a network, and two numbers behind it.
  view.setBigUint64(PLACE.config + 32, 0n, true);
  for (const at of [40, 44]) view.setInt32(PLACE.config + at, CONFIG.undefinedNumber, true);
}

function versionText(version: number): string {
  return [Math.floor(version / 10_000), Math.floor(version / 100) % 100, version % 100].join('.');
}

function bindCalls(library: NativeLibrary) {
  const bind = library.bind.bind(library);
  const a = 'address';
  return {
    describe: bind('ncclGetErrorString', a, ['i32']),
    uniqueId: bind('ncclGetUniqueId', 'i32', [a]),
    create: bind('ncclCommInitRankConfig', 'i32', [a, 'i32', 'bytes128', 'i32', a]),
    asyncError: bind('ncclCommGetAsyncError', 'i32', [a, a]),
    finalize: bind('ncclCommFinalize', 'i32', [a]),
    destroy: bind('ncclCommDestroy', 'i32', [a]),
    abort: library.bindAsync('ncclCommAbort', 'i32', [a]),
    groupStart: bind('ncclGroupStart', 'i32', []),
    groupEnd: bind('ncclGroupEnd', 'i32', []),
    allReduce: bind('ncclAllReduce', 'i32', [a, a, 'size', 'i32', 'i32', a, a]),
    send: bind('ncclSend', 'i32', [a, 'size', 'i32', 'i32', a, a]),
    receive: bind('ncclRecv', 'i32', [a, 'size', 'i32', 'i32', a, a]),
  };
}
