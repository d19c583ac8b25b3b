import { Lifetime } from '../../../base/disposal.ts';
import { isRocmforgeError, RocmforgeError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Address, PeerLink, PeerPlace } from '../../../device/index.ts';
import type { Driver } from '../driver/driver.ts';
import type { Scheduler } from '../platform.ts';
import { CaptureMeeting } from './capture-meeting.ts';
import type { Communicator, NcclLibrary, QueueCollective } from './nccl-library.ts';
import type { LibraryRank } from './peer-rank.ts';

/** What a link through a library is opened with. */
export interface NcclLinkSetup<Part> {
  readonly scheduler: Scheduler;
  readonly logger: Logger;
  readonly ended: () => void;
  /** Captures what the devices run, in their order, into executable graphs. Throws what a driver or `queue` does, with nothing left. */
  readonly captureAll: (parts: readonly Part[], queue: QueueCollective) => readonly Address[];
  /** How long communicators may take on the host for what is asked of them. */
  readonly seconds?: number | undefined;
}

/** Ranks of a group: some of this process, which follow one another, and others elsewhere. */
export interface LinkPlace extends Pick<PeerPlace, 'id' | 'ranks' | 'signal'> {
  /** The first rank that this process has. */
  readonly first: number;
}

/**
 * NCCL or RCCL between devices, which need no access to one another's memory: of one driver in this process, and of others elsewhere.
 * What the library queues is captured into the ranks' steps, all of this process at once. An error of a communicator, or `abort`, loses
 * all its devices. Communicators end after the last of those steps, as the library waits for them. `Part`: what is captured on one device.
 */
export class NcclLink<Part> implements PeerLink {
  /** What kernels of each rank of this process are planned for. */
  readonly ranks: readonly LibraryRank[];
  readonly #library: NcclLibrary;
  readonly #drivers: readonly Driver[];
  readonly #communicators: readonly Communicator[];
  readonly #watches: readonly Disposable[];
  readonly #lifetime = new Lifetime('link between devices');
  readonly #setup: NcclLinkSetup<Part>;
  /** Steps that not all ranks of this process have brought yet, by their number among those of a rank. */
  readonly #meetings = new Map<number, CaptureMeeting<Part>>();
  readonly #brought: number[];
  /** Captured steps that were not disposed. */
  #steps = 0;
  /** Why it was aborted, and the abortion. */
  #aborted: { readonly why: string; readonly done: Promise<void> } | undefined;
  /** The end of the communicators. */
  #end: Promise<void> | undefined;

  private constructor(
    library: NcclLibrary,
    drivers: readonly Driver[],
    communicators: readonly Communicator[],
    of: NcclLinkSetup<Part> & Pick<LinkPlace, 'ranks'>,
  ) {
    this.#library = library;
    this.#drivers = drivers;
    this.#communicators = communicators;
    this.#setup = of;
    this.#brought = drivers.map(() => 0);
    this.ranks = communicators.map(({ rank }) => ({ kind: 'library', rank, ranks: of.ranks }));
    this.#watches = drivers.map((driver) => driver.watch(() => this.#fault()));
  }

  /**
   * Links devices that are open. Rejects with `DRIVER_CALL`, `DEVICE_UNAVAILABLE` or the reason of the signal, leaving nothing behind but
   * the library, which the link owns once it is there.
   */
  static async open<Part>(
    library: NcclLibrary,
    drivers: readonly Driver[],
    of: NcclLinkSetup<Part> & LinkPlace,
  ): Promise<NcclLink<Part>> {
    const own = drivers.map((driver, index) => ({ rank: of.first + index, use: () => driver.use() }));
    const communicators = await library.createAll(own, of);
    try {
      await library.ready(communicators, of);
    } catch (error) {
      await library.abortAll(communicators);
      throw error;
    }
    return new NcclLink(library, drivers, communicators, of);
  }

  /**
   * Captures a step of the `index`-th rank of this process when all of them have brought theirs, of which the n-th on each belong together; resolves with its executable
   * graph, whose end `stepEnded` has to be told. Rejects on all ranks with what the driver or the library does, or `part` of one of them throws.
   */
  async capture(index: number, part: () => Part): Promise<Address> {
    this.#lifetime.check();
    if (this.#aborted) throw this.#lost(this.#aborted.why);
    const number = this.#brought[index] as number;
    this.#brought[index] = number + 1;
    const meeting = this.#meetings.get(number) ?? new CaptureMeeting<Part>(this.ranks.length);
    this.#meetings.set(number, meeting);
    const captured = meeting.bring(index, part);
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

  /** A captured step was disposed. */
  stepEnded(): void {
    this.#steps--;
    if (this.#lifetime.disposed && this.#steps === 0) void this.#ended();
  }

  /**
   * Resolves when the communicators have ended. While steps are left, which are then of no use and whose devices are lost, it resolves at
   * once, and the communicators end with the last step.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#lifetime.end()) {
      for (const watch of this.#watches) watch[Symbol.dispose]();
      this.#disband(new RocmforgeError('DISPOSED', { what: 'link between devices' }));
      if (this.#steps > 0) this.#abort('the link of its group was disposed before its steps');
    }
    if (this.#steps === 0) await this.#ended();
  }

  /** Ends the communicators, which no step uses any more. */
  #ended(): Promise<void> {
    this.#end ??= (this.#aborted ? this.#aborted.done : this.#endAll()).then(() => {
      this.#library[Symbol.dispose]();
      this.#setup.ended();
    });
    return this.#end;
  }

  /** A device may have been lost without anybody being told. */
  async #endAll(): Promise<void> {
    const left = new Set(this.#communicators);
    try {
      // Each waits for the others to begin.
      for (const one of this.#communicators) this.#library.finalize(one);
      await this.#library.ready(this.#communicators, this.#setup);
      for (const one of this.#communicators) {
        left.delete(one);
        this.#library.destroy(one);
      }
    } catch (error) {
      if (!isRocmforgeError(error)) throw error;
      this.#setup.logger.debug('a communicator did not end as it should', { reason: error.message });
      await this.#library.abortAll([...left]);
    }
  }

  /** Communicators that did not take what was queued are of no use any more, once the captures have ended. */
  #hold(meeting: CaptureMeeting<Part>): void {
    let refusal: unknown;
    const queue: QueueCollective = (met) => {
      try {
        this.#library.queue(this.#communicators, met, { seconds: this.#setup.seconds });
      } catch (error) {
        refusal = error;
        throw error;
      }
    };
    meeting.hold((parts) => {
      const executables = this.#setup.captureAll(parts, queue);
      this.#steps += executables.length;
      return executables;
    });
    if (refusal instanceof Error) this.#abort(refusal.message);
  }

  /** Gives up the devices, and ends all kernels that wait for other ranks: on other threads, as that waits for the steps to be disposed. */
  #abort(why: string): void {
    for (const driver of this.#drivers) driver.abandon(why);
    this.#disband(this.#lost(why));
    this.#aborted ??= { why, done: this.#library.abortAll(this.#communicators) };
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
    if (!this.#aborted) {
      try {
        for (const communicator of this.#communicators) this.#library.isReady(communicator);
      } catch (error) {
        if (!isRocmforgeError(error, 'DRIVER_CALL')) throw error;
        this.#abort(error.message);
      }
    }
    return this.#aborted?.why;
  }
}
