import { beforeAbort } from '../base/before-abort.ts';
import { fail, invariant, throwIfAborted } from '../base/errors.ts';
import { checkOptions, type OptionNames } from '../base/options.ts';
import type { Device } from '../device/index.ts';

/** Weights whose memory comes and goes as one. */
export interface EvictableWeights {
  /** Bytes that it takes while it is there. */
  readonly byteLength: number;
  /** When it was used last, by that memory's clock. */
  readonly lastUse: number;
  /** Allocates their memory. Throws `OUT_OF_MEMORY`, with nothing allocated. */
  create(): void;
  /** Evicts them; resolves when the device has finished with the memory and it is freed. */
  release(): Promise<void>;
}

/** How much memory is shared. */
export interface SharedDeviceMemoryOptions {
  /** Bytes for everything that its models take of the device. Default: what the device has free. */
  readonly memory?: number | undefined;
}

const SHARED_MEMORY_OPTIONS: OptionNames<SharedDeviceMemoryOptions> = { memory: true };

/** Room that somebody waits for. */
interface RoomWanted {
  readonly bytes: number;
  readonly what: string;
  /** What the asker holds already. */
  readonly own?: readonly EvictableWeights[];
  readonly signal: AbortSignal | undefined;
}

/** What an abort interrupts. */
const WAITING = 'waiting for memory that other models use';

/** What is known of a resident that has memory. */
interface Stay {
  /** How many need it where it is now. */
  holders: number;
  leaving: Promise<void> | undefined;
}

/**
 * The memory of a device that several models share: what a model takes besides its weights is reserved while it is open;
 * weights stay until others need the memory, and the least recently used are evicted first. What is held, because work with
 * it is being queued, is never evicted. The device is the caller's.
 */
export class SharedDeviceMemory {
  readonly device: Device;
  /** Bytes for everything. */
  readonly memory: number;
  readonly #stays = new Map<EvictableWeights, Stay>();
  /** Whose model has ended. */
  readonly #gone = new WeakSet<EvictableWeights>();
  #reserved = 0;
  #used = 0;
  #clock = 0;
  /** Requests for memory are served in order. */
  #line: Promise<unknown> = Promise.resolve();
  #changed: () => void = () => {};

  private constructor(device: Device, memory: number) {
    this.device = device;
    this.memory = memory;
  }

  /** Rejects with `INVALID_ARGUMENT` for a budget that is none. */
  static async open(device: Device, options: SharedDeviceMemoryOptions = {}): Promise<SharedDeviceMemory> {
    checkOptions('SharedDeviceMemory', options, SHARED_MEMORY_OPTIONS);
    const { free } = await device.memory();
    const { memory = free } = options;
    if (Number.isSafeInteger(memory) && memory > 0) return new SharedDeviceMemory(device, memory);
    return fail('INVALID_ARGUMENT', { name: 'memory', found: `${memory}`, expected: 'a count of bytes' });
  }

  /** Bytes that are not set aside for what models keep besides their weights. @internal */
  get forWeights(): number {
    return this.memory - this.#reserved;
  }

  /** Bytes of the weights that have memory now. */
  get weights(): number {
    return this.#used;
  }

  /** The time, for `lastUse`. @internal */
  now(): number {
    return ++this.#clock;
  }

  /**
   * Sets bytes aside until `free`; weights make room. Rejects with `OUT_OF_MEMORY` where the models hold too much, and with
   * `ABORTED`.
   * @internal
   */
  async reserve(bytes: number, signal?: AbortSignal): Promise<void> {
    const reserving = this.#inTurn(async () => {
      await this.#makeRoom({ bytes, what: 'what a model needs besides its weights', signal });
      this.#reserved += bytes;
    });
    await this.#unlessAborted(reserving, signal, () => this.free(bytes));
  }

  /** Gives back what was reserved. @internal */
  free(bytes: number): void {
    this.#reserved -= bytes;
    this.#changed();
  }

  /** True while a resident has memory. @internal */
  has(resident: EvictableWeights): boolean {
    const stay = this.#stays.get(resident);
    return stay !== undefined && !stay.leaving;
  }

  /**
   * Holds residents where they are, with memory of their own, which they get if they had none: `giveBack` follows. Rejects,
   * nothing held, with `OUT_OF_MEMORY` where even all other weights leave no room, with `DISPOSED` once one has left, and
   * with `ABORTED`.
   * @internal
   */
  async hold(residents: readonly EvictableWeights[], signal?: AbortSignal): Promise<void> {
    throwIfAborted(signal, WAITING);
    if (this.holdIfPresent(residents)) return;
    // All at once: who held some and waited for others could wait for somebody who does the same.
    const holding = this.#inTurn(async () => {
      const held: EvictableWeights[] = [];
      try {
        for (const resident of residents) {
          await this.#stays.get(resident)?.leaving;
          if (!this.#stays.has(resident)) await this.#admit(resident, held, signal);
          invariant(this.holdIfPresent([resident]), 'what was admitted is there');
          held.push(resident);
        }
      } catch (error) {
        this.giveBack(held);
        throw error;
      }
    });
    await this.#unlessAborted(holding, signal, () => this.giveBack(residents));
  }

  /** Holds residents that are there; false, with none held, where one is not. @internal */
  holdIfPresent(residents: readonly EvictableWeights[]): boolean {
    for (const resident of residents) if (!this.has(resident)) return false;
    for (const resident of residents) {
      const stay = this.#stays.get(resident);
      if (stay) stay.holders++;
    }
    return true;
  }

  /** Ends a hold: the residents may go again. @internal */
  giveBack(residents: readonly EvictableWeights[]): void {
    for (const resident of residents) {
      const stay = this.#stays.get(resident);
      // What left for good, because its model ended, is held by nobody.
      if (stay) stay.holders--;
    }
    this.#changed();
  }

  /** Takes a resident's memory back, for good: its model ends. @internal */
  async leave(resident: EvictableWeights): Promise<void> {
    this.#gone.add(resident);
    const stay = this.#stays.get(resident);
    if (stay) await (stay.leaving ?? this.#evict(resident, stay));
  }

  async #admit(
    resident: EvictableWeights,
    own: readonly EvictableWeights[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { byteLength } = resident;
    await this.#makeRoom({ bytes: byteLength, what: 'weights', own, signal });
    // A load in the background may have waited for room while its model was closed.
    if (this.#gone.has(resident)) fail('DISPOSED', { what: 'the model' });
    resident.create();
    this.#used += byteLength;
    this.#stays.set(resident, { holders: 0, leaving: undefined });
  }

  /** Lets weights go until so many bytes are free. */
  async #makeRoom({ bytes, what, own = [], signal }: RoomWanted): Promise<void> {
    throwIfAborted(signal, WAITING);
    while (this.#used + bytes > this.forWeights) {
      const oldest = this.#oldest();
      if (oldest) await this.#evict(...oldest);
      else if (this.#stays.size > own.length) await beforeAbort(this.#change(), signal, WAITING);
      else {
        const { backend: device } = this.device.info;
        fail('OUT_OF_MEMORY', { device, what, bytes, free: this.forWeights - this.#used });
      }
      throwIfAborted(signal, WAITING);
    }
  }

  /** Resolves when something is held no more, or gone. */
  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#changed = resolve;
    });
  }

  /** What is not held and was used the longest time ago. */
  #oldest(): [EvictableWeights, Stay] | undefined {
    let oldest: [EvictableWeights, Stay] | undefined;
    for (const [resident, stay] of this.#stays) {
      const mayGo = stay.holders === 0 && !stay.leaving;
      if (mayGo && (!oldest || resident.lastUse < oldest[0].lastUse)) oldest = [resident, stay];
    }
    return oldest;
  }

  #evict(resident: EvictableWeights, stay: Stay): Promise<void> {
    stay.leaving = resident.release().finally(() => {
      this.#stays.delete(resident);
      this.#used -= resident.byteLength;
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
      await beforeAbort(work, signal, WAITING);
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
