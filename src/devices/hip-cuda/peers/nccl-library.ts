import { fail } from '../../../base/errors.ts';
import type { Address, Ffi, NativeLibrary, NativeMemory } from '../../../device/index.ts';
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

/** What a rank computes with the others, on a stream of its own. */
export interface QueuedCollective {
  readonly of: LibraryCollective;
  readonly stream: Address;
}

/** Queues a collective on all ranks, by rank. */
export type QueueCollective = (collectives: readonly QueuedCollective[]) => void;

/**
 * NCCL or RCCL: communicators that never block, whose work and whose errors are polled. Its calls take effect on the driver's current
 * device of the thread.
 */
export class NcclLibrary implements Disposable {
  /** The file that was loaded. */
  readonly file: string;
  readonly #table: NcclTable;
  readonly #ffi: Ffi;
  readonly #calls: ReturnType<typeof bindCalls>;
  readonly #memory: NativeMemory;
  readonly #version: number;

  /** Throws `LIBRARY_NOT_FOUND`, `SYMBOL_NOT_FOUND`, and `DEVICE_UNAVAILABLE` for a release that cannot do without blocking. */
  constructor(ffi: Ffi, table: NcclTable, libraries: readonly string[] = table.libraries) {
    const library = ffi.open(libraries);
    this.file = library.name;
    this.#table = table;
    this.#ffi = ffi;
    this.#calls = bindCalls(library);
    this.#memory = ffi.allocate(MEMORY_BYTES);
    this.#check('GetVersion', this.#calls.version(this.#memory.address + PLACE.result));
    this.#version = this.#memory.view.getInt32(PLACE.result, true);
    if (this.#version < OLDEST) {
      const why = `${this.description} is too old: ${versionText(OLDEST)} is needed`;
      this[Symbol.dispose]();
      fail('DEVICE_UNAVAILABLE', { device: table.name, why });
    }
  }

  /** Its name, its release and its file. */
  get description(): string {
    return `${this.#table.name} ${versionText(this.#version)} (${this.file})`;
  }

  /**
   * Begins to create a communicator for each rank, which `use` makes the current device. All are ready once `isReady` is true of each.
   * Throws `DRIVER_CALL`, leaving none behind.
   */
  createAll(ranks: number, use: (rank: number) => void): readonly Address[] {
    const { address, bytes, view } = this.#memory;
    this.#check('GetUniqueId', this.#calls.uniqueId(address + PLACE.id));
    const id = { bytes: bytes.slice(PLACE.id, PLACE.id + ID_BYTES) };
    writeConfig(view);
    const made: Address[] = [];
    try {
      this.#grouped(() => {
        for (let rank = 0; rank < ranks; rank++) {
          use(rank);
          const place = PLACE.communicators + 8 * rank;
          view.setBigUint64(place, 0n, true);
          const config = address + PLACE.config;
          const status = this.#calls.create(address + place, ranks, id, rank, config);
          const communicator = Number(view.getBigUint64(place, true));
          if (communicator !== 0) made.push(communicator);
          this.#check('CommInitRankConfig', status);
        }
      });
    } catch (error) {
      for (const communicator of made) this.abort(communicator);
      throw error;
    }
    return made;
  }

  /** Whether a communicator has done what it was last asked for, on the host. Throws `DRIVER_CALL` with its error. */
  isReady(communicator: Address): boolean {
    const place = this.#memory.address + PLACE.result;
    this.#check('CommGetAsyncError', this.#calls.asyncError(communicator, place));
    const status = this.#memory.view.getInt32(PLACE.result, true);
    if (status === IN_PROGRESS) return false;
    this.#check('CommGetAsyncError', status);
    return true;
  }

  /**
   * Queues a collective of all ranks, which are those of this process: on each of them what `collectives` says. Waits until all are
   * queued. Throws `DRIVER_CALL`.
   */
  queue(
    communicators: readonly Address[],
    collectives: readonly QueuedCollective[],
    use: (rank: number) => void,
  ): void {
    this.#grouped(() => {
      for (const [rank, { of, stream }] of collectives.entries()) {
        use(rank);
        this.#queueOn(communicators[rank] as Address, { rank, of, stream });
      }
    });
    for (const communicator of communicators) this.#await(communicator);
  }

  /** Ends the communicators of a link, whose work is done. Waits. Throws `DRIVER_CALL` after aborting those that are left. */
  destroyAll(communicators: readonly Address[]): void {
    const left = new Set(communicators);
    try {
      // Each waits for the others to begin.
      for (const one of communicators) this.#check('CommFinalize', this.#calls.finalize(one));
      for (const one of communicators) this.#await(one);
      for (const one of communicators) {
        left.delete(one);
        this.#check('CommDestroy', this.#calls.destroy(one));
      }
    } catch (error) {
      for (const one of left) this.abort(one);
      throw error;
    }
  }

  /** Ends a communicator with all that it has queued, in whatever state it is. */
  abort(communicator: Address): void {
    this.#calls.abort(communicator);
  }

  [Symbol.dispose](): void {
    this.#memory[Symbol.dispose]();
  }

  #queueOn(communicator: Address, { rank, of, stream }: QueuedCollective & { readonly rank: number }): void {
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

  #await(communicator: Address): void {
    while (!this.isReady(communicator));
  }

  #check(call: string, status: number): void {
    if (status === SUCCESS || status === IN_PROGRESS) return;
    const text = this.#ffi.text(this.#calls.describe(status));
    fail('DRIVER_CALL', {
      device: this.#table.name,
      call: `nccl${call}`,
      status,
      text,
      hint: 'NCCL_DEBUG=INFO in the environment makes the library say more',
    });
  }
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
    version: bind('ncclGetVersion', 'i32', [a]),
    describe: bind('ncclGetErrorString', a, ['i32']),
    uniqueId: bind('ncclGetUniqueId', 'i32', [a]),
    create: bind('ncclCommInitRankConfig', 'i32', [a, 'i32', 'bytes128', 'i32', a]),
    asyncError: bind('ncclCommGetAsyncError', 'i32', [a, a]),
    finalize: bind('ncclCommFinalize', 'i32', [a]),
    destroy: bind('ncclCommDestroy', 'i32', [a]),
    abort: bind('ncclCommAbort', 'i32', [a]),
    groupStart: bind('ncclGroupStart', 'i32', []),
    groupEnd: bind('ncclGroupEnd', 'i32', []),
    allReduce: bind('ncclAllReduce', 'i32', [a, a, 'size', 'i32', 'i32', a, a]),
    send: bind('ncclSend', 'i32', [a, 'size', 'i32', 'i32', a, a]),
    receive: bind('ncclRecv', 'i32', [a, 'size', 'i32', 'i32', a, a]),
  };
}
