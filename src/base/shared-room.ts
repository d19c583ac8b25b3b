import { beforeAbort } from './before-abort.ts';
import { fail, invariant, throwIfAborted } from './errors.ts';

/** Something that takes up room while it is present. */
export interface Evictable {
  /** Its size in the room's units. */
  readonly size: number;
  /** When it was last used, by the room's clock. */
  readonly lastUse: number;
  /** Called when it gets room. If it throws, it gets none. */
  create(): void;
  /** Called when it is evicted; resolves when its room is free. */
  release(): Promise<void>;
}

/** What room is requested for: a thing that may be evicted, or a reservation until it is freed. */
export type RoomUse = 'hold' | 'reserve';

/** The size of the room, and the errors of those who cannot get any. */
export interface RoomOptions {
  /** The total size. */
  readonly size: number;
  /** The name of the wait that an abort interrupts. */
  readonly waiting: string;
  /** Throws for requests that could wait forever: `free` is what is left for those who `hold` or `reserve`. */
  readonly refuse: (of: { use: RoomUse; size: number; free: number }) => never;
}

/** A request for room. */
interface RoomWanted {
  readonly size: number;
  readonly use: RoomUse;
  /** What the requester already holds. */
  readonly own?: readonly Evictable[];
  readonly signal: AbortSignal | undefined;
}

/** What is known of a present thing. */
interface Stay {
  /** How many hold it. */
  holders: number;
  leaving: Promise<void> | undefined;
}

/**
 * A shared capacity for things that come and go: memory for the weights of several models, places for the models of a
 * server. Held things are never evicted; of the others, the least recently used is evicted first when room is needed.
 * Requests are served in order.
 */
export class SharedRoom {
  readonly #of: RoomOptions;
  readonly #stays = new Map<Evictable, Stay>();
  /** Things that have left for good. */
  readonly #gone = new WeakSet<Evictable>();
  #reserved = 0;
  #used = 0;
  #clock = 0;
  /** Settles when all earlier requests have been served. */
  #line: Promise<unknown> = Promise.resolve();
  #changed: () => void = () => {};

  constructor(of: RoomOptions) {
    this.#of = of;
  }

  /** Room that is not reserved. */
  get unreserved(): number {
    return this.#of.size - this.#reserved;
  }

  /** The total size of the present things. */
  get used(): number {
    return this.#used;
  }

  /** The current time, for `lastUse`. */
  now(): number {
    return ++this.#clock;
  }

  /** Reserves room until `free`, evicting things if necessary. Rejects as `refuse` throws, and with `ABORTED`. */
  async reserve(size: number, signal?: AbortSignal): Promise<void> {
    const reserving = this.#inTurn(async () => {
      await this.#makeRoom({ size, use: 'reserve', signal });
      this.#reserved += size;
    });
    await this.#unlessAborted(reserving, signal, () => this.free(size));
  }

  /** Frees reserved room. */
  free(size: number): void {
    this.#reserved -= size;
    this.#changed();
  }

  /** True if a thing is present. */
  has(thing: Evictable): boolean {
    const stay = this.#stays.get(thing);
    return stay !== undefined && !stay.leaving;
  }

  /** Resolves when all earlier requests have been served. Rejects with `ABORTED`. */
  async turn(signal?: AbortSignal): Promise<void> {
    await beforeAbort(
      this.#line.then(() => {}),
      signal,
      this.#of.waiting,
    );
  }

  /**
   * Holds things, giving them room if they had none; `giveBack` ends this. Rejects, without holding any, as `refuse`
   * throws if even evicting everything else is not enough, with `DISPOSED` if one has left, with errors of `create`,
   * and with `ABORTED`.
   */
  async hold(things: readonly Evictable[], signal?: AbortSignal): Promise<void> {
    throwIfAborted(signal, this.#of.waiting);
    if (this.holdIfPresent(things)) return;
    // All at once: requests that hold some things while waiting for others could deadlock.
    const holding = this.#inTurn(async () => {
      const held: Evictable[] = [];
      try {
        for (const thing of things) {
          await this.#stays.get(thing)?.leaving;
          if (!this.#stays.has(thing)) await this.#admit(thing, { own: held, signal });
          invariant(this.holdIfPresent([thing]), 'what was admitted is there');
          held.push(thing);
        }
      } catch (error) {
        this.giveBack(held);
        throw error;
      }
    });
    await this.#unlessAborted(holding, signal, () => this.giveBack(things));
  }

  /** Holds things that are present; false, without holding any, if one is not. */
  holdIfPresent(things: readonly Evictable[]): boolean {
    for (const thing of things) if (!this.has(thing)) return false;
    for (const thing of things) {
      const stay = this.#stays.get(thing);
      if (stay) stay.holders++;
    }
    return true;
  }

  /** Ends a hold: the things may be evicted again. */
  giveBack(things: readonly Evictable[]): void {
    for (const thing of things) {
      const stay = this.#stays.get(thing);
      // Things that have left for good are not held.
      if (stay) stay.holders--;
    }
    this.#changed();
  }

  /** Evicts a thing for good, whether it is held or not; resolves when its room is free. */
  async leave(thing: Evictable): Promise<void> {
    this.#gone.add(thing);
    const stay = this.#stays.get(thing);
    if (stay) await (stay.leaving ?? this.#evict(thing, stay));
  }

  /**
   * Evicts a thing that is not held; resolves with false if it is held or absent, and with true once its room is free.
   */
  async evict(thing: Evictable): Promise<boolean> {
    const stay = this.#stays.get(thing);
    if (!stay || stay.holders > 0) return false;
    await (stay.leaving ?? this.#evict(thing, stay));
    return true;
  }

  async #admit(thing: Evictable, wanted: Omit<RoomWanted, 'size' | 'use'>): Promise<void> {
    const { size } = thing;
    await this.#makeRoom({ size, use: 'hold', ...wanted });
    // It may have left while waiting for room.
    if (this.#gone.has(thing)) fail('DISPOSED', { what: 'the model' });
    thing.create();
    this.#used += size;
    this.#stays.set(thing, { holders: 0, leaving: undefined });
  }

  /** Evicts until there is enough room. */
  async #makeRoom({ size, use, own = [], signal }: RoomWanted): Promise<void> {
    throwIfAborted(signal, this.#of.waiting);
    while (this.#used + size > this.unreserved) {
      const oldest = this.#oldest();
      if (oldest) await this.#evict(...oldest);
      else if (this.#stays.size > own.length) await beforeAbort(this.#change(), signal, this.#of.waiting);
      else this.#of.refuse({ use, size, free: this.unreserved - this.#used });
      throwIfAborted(signal, this.#of.waiting);
    }
  }

  /** Resolves when something is no longer held, or has left. */
  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#changed = resolve;
    });
  }

  /** The least recently used thing that is not held. */
  #oldest(): [Evictable, Stay] | undefined {
    let oldest: [Evictable, Stay] | undefined;
    for (const [thing, stay] of this.#stays) {
      const mayGo = stay.holders === 0 && !stay.leaving;
      if (mayGo && (!oldest || thing.lastUse < oldest[0].lastUse)) oldest = [thing, stay];
    }
    return oldest;
  }

  #evict(thing: Evictable, stay: Stay): Promise<void> {
    stay.leaving = thing.release().finally(() => {
      this.#stays.delete(thing);
      this.#used -= thing.size;
      this.#changed();
    });
    return stay.leaving;
  }

  /**
   * The outcome of `work`, or `ABORTED` while it is still waiting for its turn; `undo` reverts it if it happens anyway.
   */
  async #unlessAborted(
    work: Promise<void>,
    signal: AbortSignal | undefined,
    undo: () => void,
  ): Promise<void> {
    try {
      await beforeAbort(work, signal, this.#of.waiting);
    } catch (error) {
      work.then(undo, () => {});
      throw error;
    }
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#line.then(work);
    this.#line = turn.catch(() => {});
    return turn;
  }
}
