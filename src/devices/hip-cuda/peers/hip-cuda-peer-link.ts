import { Lifetime } from '../../../base/disposal.ts';
import type { Logger } from '../../../base/log.ts';
import type { Ffi, PeerLink } from '../../../device/index.ts';
import type { Driver } from '../driver/driver.ts';
import { allocatePinned, type HipCudaPinned } from '../memory/hip-cuda-pinned.ts';
import { Inbox } from './inbox.ts';
import { MAX_LINKED_RANKS, MOST_BLOCKS, type PeerRank } from './peer-rank.ts';

/** A device to be linked. */
export interface LinkedDevice {
  readonly driver: Driver;
  /** The compiler's name for its instruction set. */
  readonly target: string;
  readonly multiprocessors: number;
}

/** Sizes of a link. */
export interface PeerLinkOptions {
  /** Slots of an inbox for each sender and parity. Default: 65 536, which take half a megabyte of numbers at once. */
  readonly slots?: number;
  /** Groups of four numbers that are sent in bulk at once. Default: 262 144, which are four megabytes. */
  readonly bulk?: number;
  /** The bytes from which on tensors are sent in bulk. Default: 1 MiB. */
  readonly bulkFrom?: number;
  /** How often a thread that waits looks at the abort word before it gives up. Default: 10 000, about half a minute. */
  readonly patience?: number;
}

const SLOTS = 65_536;
const BULK = 262_144;
const BULK_FROM = 2 ** 20;
const PATIENCE = 10_000;

/** Values of the abort word; from `GAVE_UP` on, the rank that gave up waiting is added. */
const RUNNING = 0;
const ABORTED = 1;
const GAVE_UP = 2;

/**
 * Peer access between devices of one driver, with the memory that their kernels need for collectives: inboxes that the others write,
 * counters, and an abort word in pinned memory at which every kernel looks that waits. What gives up waiting, or is aborted, loses all
 * ranks' devices, because what they computed since is worth nothing.
 */
export class HipCudaPeerLink implements PeerLink {
  readonly #drivers: readonly Driver[];
  readonly #word: HipCudaPinned;
  readonly #lifetime = new Lifetime('link between devices');
  readonly #undo: readonly (() => void)[];
  readonly #ended: () => void;
  /** What their kernels need, in the order of the ranks. */
  readonly ranks: readonly PeerRank[];

  private constructor(
    devices: readonly LinkedDevice[],
    of: {
      word: HipCudaPinned;
      inboxes: readonly Inbox[];
      undo: readonly (() => void)[];
      options: PeerLinkOptions;
      ended: () => void;
    },
  ) {
    const { word, inboxes, undo, ended } = of;
    const { slots = SLOTS, bulk = BULK, bulkFrom = BULK_FROM, patience = PATIENCE } = of.options;
    this.#drivers = devices.map(({ driver }) => driver);
    this.#word = word;
    this.#ended = ended;
    this.#value = RUNNING;
    const watches = this.#drivers.map((driver) => driver.watch(() => this.#fault()));
    this.#undo = [...undo, ...watches.map((watch) => () => watch[Symbol.dispose]())];
    this.ranks = devices.map((_, rank) => ({
      kind: 'kernels',
      rank,
      inboxes: inboxes.map(({ address }) => address),
      state: (inboxes[rank] as Inbox).state,
      aborted: word.addressOf(word.bytes),
      slots,
      bulk,
      bulkFrom,
      blocks: Math.min(MOST_BLOCKS, ...devices.map(({ multiprocessors }) => multiprocessors)),
      patience,
    }));
  }

  /**
   * Links devices that are open, or says why they cannot be linked. Throws `OUT_OF_MEMORY` or the error of the driver, leaving nothing
   * behind.
   */
  static open(
    devices: readonly LinkedDevice[],
    of: {
      readonly ffi: Ffi;
      readonly logger: Logger;
      readonly options: PeerLinkOptions;
      readonly ended: () => void;
    },
  ): HipCudaPeerLink | { readonly why: string } {
    const { ffi, logger, options, ended } = of;
    const why = whyNot(devices);
    if (why !== undefined) return { why };
    const undo: (() => void)[] = [];
    try {
      const [first] = devices as readonly [LinkedDevice];
      const word = allocatePinned({ driver: first.driver, ffi, logger }, 4, 'abort word');
      undo.push(() => word[Symbol.dispose]());
      if (!word.pinned) {
        undoAll(undo);
        return { why: 'no memory can be pinned for them' };
      }
      const { slots = SLOTS, bulk = BULK } = options;
      const inboxes = devices.map(({ driver }) => {
        const inbox = new Inbox(driver, { ranks: devices.length, slots, bulk });
        undo.push(() => inbox[Symbol.dispose]());
        return inbox;
      });
      for (const { driver } of devices) {
        for (const { driver: peer } of devices) {
          if (peer === driver) continue;
          driver.enablePeer(peer);
          undo.push(() => driver.disablePeer(peer));
        }
      }
      return new HipCudaPeerLink(devices, { word, inboxes, undo, options, ended });
    } catch (error) {
      undoAll(undo);
      throw error;
    }
  }

  abort(reason: unknown): void {
    if (this.#lifetime.disposed) return;
    if (this.#value === RUNNING) this.#value = ABORTED;
    const why = reason instanceof Error ? reason.message : String(reason);
    for (const driver of this.#drivers) driver.abandon(`a rank of its group failed: ${why}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#lifetime.end()) return;
    this.#ended();
    undoAll(this.#undo);
  }

  get #value(): number {
    return new DataView(this.#word.buffer, this.#word.bytes.byteOffset).getUint32(0, true);
  }

  set #value(value: number) {
    new DataView(this.#word.buffer, this.#word.bytes.byteOffset).setUint32(0, value, true);
  }

  /** Why what was waited for is worth nothing. */
  #fault(): string | undefined {
    const value = this.#value;
    if (value === RUNNING) return undefined;
    const why =
      value === ABORTED
        ? 'a rank of its group failed'
        : `rank ${value - GAVE_UP} gave up waiting for the others`;
    for (const driver of this.#drivers) driver.abandon(why);
    return why;
  }
}

/** Why kernels of these devices cannot wait for one another. */
function whyNot(devices: readonly LinkedDevice[]): string | undefined {
  const [first] = devices;
  if (!first || devices.length < 2) return 'there is only one';
  if (devices.length > MAX_LINKED_RANKS) return `there are more than ${MAX_LINKED_RANKS}`;
  const { library } = first.driver;
  if (devices.some(({ driver }) => driver.library !== library)) return 'their drivers differ';
  if (devices.some(({ target }) => target !== first.target)) return 'they are of different kinds';
  // Kernels that wait for one another on one device may keep each other from running.
  if (new Set(devices.map(({ driver }) => driver.ordinal)).size < devices.length) return 'one is there twice';
  for (const { driver } of devices) {
    for (const { driver: peer } of devices) {
      if (peer !== driver && !driver.canAccessPeer(peer.ordinal)) {
        return `${driver.device} has no access to the memory of ${peer.device}`;
      }
    }
  }
  return undefined;
}

/** The last first; the first error is thrown when all is undone. */
function undoAll(undo: readonly (() => void)[]): void {
  const errors: unknown[] = [];
  for (const step of [...undo].reverse()) {
    try {
      step();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}
