import { Lifetime } from '../../../base/disposal.ts';
import { fail, isRocmforgeError, RocmforgeError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Address, PeerLink } from '../../../device/index.ts';
import type { Driver } from '../driver/driver.ts';
import type { Scheduler } from '../platform.ts';
import { CaptureMeeting } from './capture-meeting.ts';
import type { NcclLibrary, QueueCollective } from './nccl-library.ts';
import type { LibraryRank } from './peer-rank.ts';

/** How long communicators may take to find one another. */
const INIT_SECONDS = 60;

/** What a link through a library is opened with. */
export interface NcclLinkSetup<Part> {
  readonly scheduler: Scheduler;
  readonly logger: Logger;
  readonly ended: () => void;
  /** Captures what the devices run, by rank, into executable graphs. Throws what a driver or `queue` does, with nothing left. */
  readonly captureAll: (parts: readonly Part[], queue: QueueCollective) => readonly Address[];
}

/**
 * NCCL or RCCL between devices of one driver in this process, which need no access to one another's memory. What the library queues is
 * captured into the ranks' steps, all at once. An error of a communicator, or `abort`, loses all ranks' devices. `Part`: what is captured
 * on one device.
 */
export class NcclLink<Part> implements PeerLink {
  /** What kernels of each rank are planned for. */
  readonly ranks: readonly LibraryRank[];
  readonly #library: NcclLibrary;
  readonly #drivers: readonly Driver[];
  readonly #communicators: readonly Address[];
  readonly #watches: readonly Disposable[];
  readonly #lifetime = new Lifetime('link between devices');
  readonly #setup: NcclLinkSetup<Part>;
  /** Steps that not all ranks have brought yet, by their number among those of a rank. */
  readonly #meetings = new Map<number, CaptureMeeting<Part>>();
  readonly #brought: number[];
  /** Why it was aborted. */
  #aborted: string | undefined;

  private constructor(
    library: NcclLibrary,
    drivers: readonly Driver[],
    communicators: readonly Address[],
    setup: NcclLinkSetup<Part>,
  ) {
    this.#library = library;
    this.#drivers = drivers;
    this.#communicators = communicators;
    this.#setup = setup;
    this.#brought = drivers.map(() => 0);
    this.ranks = drivers.map((_, rank) => ({ kind: 'library', rank, ranks: drivers.length }));
    this.#watches = drivers.map((driver) => driver.watch(() => this.#fault()));
  }

  /** Links devices that are open. Rejects with `DRIVER_CALL`, leaving nothing behind but the library, which the link owns once it is there. */
  static async open<Part>(
    library: NcclLibrary,
    drivers: readonly Driver[],
    setup: NcclLinkSetup<Part>,
  ): Promise<NcclLink<Part>> {
    const communicators = library.createAll(drivers.length, (rank) => drivers[rank]?.use());
    try {
      const last = performance.now() + 1000 * INIT_SECONDS;
      for (const communicator of communicators) {
        while (!library.isReady(communicator)) {
          if (performance.now() > last) refuseToWait(drivers);
          await new Promise<void>((resolve) => setup.scheduler.later(resolve, 1));
        }
      }
    } catch (error) {
      for (const communicator of communicators) library.abort(communicator);
      throw error;
    }
    return new NcclLink(library, drivers, communicators, setup);
  }

  /**
   * Captures a rank's step when all ranks have brought theirs, of which the n-th on each belong together; resolves with its executable
   * graph. Rejects on all ranks with what the driver or the library does, or `part` of one of them throws.
   */
  async capture(rank: number, part: () => Part): Promise<Address> {
    this.#lifetime.check();
    if (this.#aborted !== undefined) throw this.#lost(this.#aborted);
    const number = this.#brought[rank] as number;
    this.#brought[rank] = number + 1;
    const meeting = this.#meetings.get(number) ?? new CaptureMeeting<Part>(this.ranks.length);
    this.#meetings.set(number, meeting);
    const captured = meeting.bring(rank, part);
    if (meeting.isComplete) {
      this.#meetings.delete(number);
      this.#hold(meeting);
    }
    return captured;
  }

  abort(reason: unknown): void {
    if (this.#lifetime.disposed) return;
    const why = reason instanceof Error ? reason.message : String(reason);
    this.#abort(`a rank of its group failed: ${why}`);
  }

  [Symbol.dispose](): void {
    if (!this.#lifetime.end()) return;
    for (const watch of this.#watches) watch[Symbol.dispose]();
    this.#setup.ended();
    this.#disband(new RocmforgeError('DISPOSED', { what: 'link between devices' }));
    if (this.#aborted === undefined) this.#end();
    this.#library[Symbol.dispose]();
  }

  /** A device may have been lost without anybody being told. */
  #end(): void {
    try {
      this.#library.destroyAll(this.#communicators);
    } catch (error) {
      if (!isRocmforgeError(error, 'DRIVER_CALL')) throw error;
      this.#setup.logger.debug('a communicator did not end as it should', { reason: error.message });
    }
  }

  /** Communicators that did not take what was queued are of no use any more, once the captures have ended. */
  #hold(meeting: CaptureMeeting<Part>): void {
    let refusal: unknown;
    const queue: QueueCollective = (met) => {
      try {
        this.#library.queue(this.#communicators, met, (rank) => this.#drivers[rank]?.use());
      } catch (error) {
        refusal = error;
        throw error;
      }
    };
    meeting.hold((parts) => this.#setup.captureAll(parts, queue));
    if (refusal instanceof Error) this.#abort(refusal.message);
  }

  /** Ends all kernels that wait for other ranks, and gives up their devices. */
  #abort(why: string): void {
    if (this.#aborted === undefined) {
      this.#aborted = why;
      for (const communicator of this.#communicators) this.#library.abort(communicator);
    }
    for (const driver of this.#drivers) driver.abandon(why);
    this.#disband(this.#lost(why));
  }

  #lost(why: string): Error {
    const device = this.#drivers.map((driver) => driver.device).join(', ');
    return new RocmforgeError('DEVICE_LOST', { device, why });
  }

  /** Rejects steps that not all ranks have brought. */
  #disband(error: Error): void {
    for (const meeting of this.#meetings.values()) meeting.fail(error);
    this.#meetings.clear();
  }

  /** Why what was waited for is worth nothing. */
  #fault(): string | undefined {
    if (this.#aborted === undefined) {
      try {
        for (const communicator of this.#communicators) this.#library.isReady(communicator);
      } catch (error) {
        if (!isRocmforgeError(error, 'DRIVER_CALL')) throw error;
        this.#abort(error.message);
      }
    }
    return this.#aborted;
  }
}

function refuseToWait(drivers: readonly Driver[]): never {
  const device = drivers.map((driver) => driver.device).join(', ');
  const why = `their communicators did not find one another within ${INIT_SECONDS} s`;
  return fail('DEVICE_UNAVAILABLE', { device, why });
}
