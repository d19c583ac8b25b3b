import { beforeAbort } from './before-abort.ts';
import { fail, invariant, throwIfAborted } from './errors.ts';

/** What takes room while it is there. */
export interface Evictable {
  /** How much room it takes. */
  readonly size: number;
  /** When it was used last, by the room's clock. */
  readonly lastUse: number;
  /** Called when it is given room. What it throws leaves it without. */
  create(): void;
  /** Called when it is evicted; resolves when its room is free. */
  release(): Promise<void>;
}

/** What room is asked for: a thing that may be evicted, or what stays until it is freed. */
export type RoomUse = 'hold' | 'reserve';

/** How much room there is, and what those who lack it are told. */
export interface RoomOptions {
  /** How much there is. */
  readonly size: number;
  /** What an abort interrupts. */
  readonly waiting: string;
  /** Throws for those who could wait for ever: `free` is what is left for them, who hold or who `reserve`. */
  readonly refuse: (of: { use: RoomUse; size: number; free: number }) => never;
}

/** Room that somebody waits for. */
interface RoomWanted {
  readonly size: number;
  readonly use: RoomUse;
  /** What the asker holds already. */
  readonly own?: readonly Evictable[];
  readonly signal: AbortSignal | undefined;
}

/** What is known of a thing that has room. */
interface Stay {
  /** How many need it there. */
  holders: number;
  leaving: Promise<void> | undefined;
}

/**
 * Room that things share which may come and go: memory for the weights of several models, places for the models of a server.
 * What is held is never evicted; of the rest, the least recently used goes first when somebody needs room. Room is given in the
 * order of asking.
 */
export class SharedRoom {
  readonly #of: RoomOptions;
  readonly #stays = new Map<Evictable, Stay>();
  /** What has left for good. */
  readonly #gone = new WeakSet<Evictable>();
  #reserved = 0;
  #used = 0;
  #clock = 0;
  /** Settles when everybody who asked before has room. */
  #line: Promise<unknown> = Promise.resolve();
  #changed: () => void = () => {};

  constructor(of: RoomOptions) {
    this.#of = of;
  }

  /** Room that is not reserved. */
  get unreserved(): number {
    return this.#of.size - this.#reserved;
  }

  /** What the things that are there take. */
  get used(): number {
    return this.#used;
  }

  /** The time, for `lastUse`. */
  now(): number {
    return ++this.#clock;
  }

  /** Sets room aside until `free`; what may be evicted goes for it. Rejects as `refuse` throws, and with `ABORTED`. */
  async reserve(size: number, signal?: AbortSignal): Promise<void> {
    const reserving = this.#inTurn(async () => {
      await this.#makeRoom({ size, use: 'reserve', signal });
      this.#reserved += size;
    });
    await this.#unlessAborted(reserving, signal, () => this.free(size));
  }

  /** Gives back what was reserved. */
  free(size: number): void {
    this.#reserved -= size;
    this.#changed();
  }

  /** True while a thing has room. */
  has(thing: Evictable): boolean {
    const stay = this.#stays.get(thing);
    return stay !== undefined && !stay.leaving;
  }

  /** Resolves when everybody who asked for room before has it. Rejects with `ABORTED`. */
  async turn(signal?: AbortSignal): Promise<void> {
    await beforeAbort(
      this.#line.then(() => {}),
      signal,
      this.#of.waiting,
    );
  }

  /**
   * Holds things where they are, with room, which they get if they had none: `giveBack` follows. Rejects, nothing held, as
   * `refuse` throws where evicting everything else leaves too little, with `DISPOSED` once one has left, with what `create`
   * throws, and with `ABORTED`.
   */
  async hold(things: readonly Evictable[], signal?: AbortSignal): Promise<void> {
    throwIfAborted(signal, this.#of.waiting);
    if (this.holdIfPresent(things)) return;
    // All at once: who held some and waited for others could wait for somebody who does the same.
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

  /** Holds things that are there; false, with none held, where one is not. */
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
      // What left for good is held by nobody.
      if (stay) stay.holders--;
    }
    this.#changed();
  }

  /** Evicts a thing for good, held or not; resolves when its room is free. */
  async leave(thing: Evictable): Promise<void> {
    this.#gone.add(thing);
    const stay = this.#stays.get(thing);
    if (stay) await (stay.leaving ?? this.#evict(thing, stay));
  }

  /** Evicts a thing that is not held; resolves with false if it is, or has no room, and with true once its room is free. */
  async evict(thing: Evictable): Promise<boolean> {
    const stay = this.#stays.get(thing);
    if (!stay || stay.holders > 0) return false;
    await (stay.leaving ?? this.#evict(thing, stay));
    return true;
  }

  async #admit(thing: Evictable, wanted: Omit<RoomWanted, 'size' | 'use'>): Promise<void> {
    const { size } = thing;
    await this.#makeRoom({ size, use: 'hold', ...wanted });
    // It may have left while it waited for room.
    if (this.#gone.has(thing)) fail('DISPOSED', { what: 'the model' });
    thing.create();
    this.#used += size;
    this.#stays.set(thing, { holders: 0, leaving: undefined });
  }

  /** Evicts until there is so much room. */
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

  /** Resolves when something is held no more, or gone. */
  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#changed = resolve;
    });
  }

  /** What is not held and was used the longest time ago. */
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

  /** The outcome of `work`, or `ABORTED` while it still waits for its turn; `undo` takes back what it does then all the same. */
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
