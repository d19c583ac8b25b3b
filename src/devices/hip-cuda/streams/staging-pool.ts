import type { Address } from '../../../device/index.ts';
import type { Driver } from '../driver/driver.ts';
import type { EventPool } from './event-pool.ts';
import { allocatePinned, type HipCudaPinned, type PinnedSetup } from '../memory/hip-cuda-pinned.ts';

const MIN_BYTES = 64 << 10;
/** Maximum bytes in flight before an upload waits. */
const MAX_IN_FLIGHT_BYTES = 64 << 20;
/** Maximum idle bytes kept for later copies. */
const MAX_IDLE_BYTES = 16 << 20;

interface Leaving {
  readonly slot: HipCudaPinned;
  readonly event: Address;
}

/**
 * Pinned memory for copies to and from unpinned memory: the driver's own staging would wait for the stream. Slot sizes
 * are powers of two; a slot is reused once the event after its copy is reached.
 */
export class StagingPool {
  readonly #setup: PinnedSetup;
  readonly #events: EventPool;
  readonly #idle: HipCudaPinned[] = [];
  readonly #leaving: Leaving[] = [];
  /** It is unknown when their copies are done; they are kept until the end. */
  readonly #stranded = new Set<HipCudaPinned>();
  #leavingBytes = 0;

  constructor(setup: PinnedSetup, events: EventPool) {
    this.#setup = setup;
    this.#events = events;
  }

  /** A slot of at least this size, owned by the caller until it is released. */
  take(byteLength: number): HipCudaPinned {
    this.#reclaim();
    while (this.#leavingBytes + byteLength > MAX_IN_FLIGHT_BYTES && this.#leaving.length > 0) {
      this.#driver.synchronizeEvent((this.#leaving[0] as Leaving).event);
      this.#reclaim();
    }
    const size = Math.max(MIN_BYTES, 2 ** Math.ceil(Math.log2(byteLength)));
    const at = this.#idle.findIndex((slot) => slot.byteLength === size);
    const [found] = at < 0 ? [] : this.#idle.splice(at, 1);
    return found ?? allocatePinned(this.#setup, Math.min(size, 2 ** 32 - 1), 'staging');
  }

  /** Releases a slot. */
  give(slot: HipCudaPinned): void {
    const idle = this.#idle.reduce((sum, { byteLength }) => sum + byteLength, 0);
    if (idle + slot.byteLength > MAX_IDLE_BYTES) slot[Symbol.dispose]();
    else this.#idle.push(slot);
  }

  /** Releases a slot once everything queued on the stream so far is done. */
  giveAfter(slot: HipCudaPinned, stream: Address): void {
    this.#stranded.add(slot);
    const event = this.#events.take();
    this.#driver.recordEvent(event, stream);
    this.#stranded.delete(slot);
    this.#leaving.push({ slot, event });
    this.#leavingBytes += slot.byteLength;
  }

  /** Frees everything; all streams must be done. */
  dispose(): void {
    for (const { slot, event } of this.#leaving.splice(0)) {
      this.#events.give(event);
      slot[Symbol.dispose]();
    }
    for (const slot of [...this.#idle.splice(0), ...this.#stranded]) slot[Symbol.dispose]();
    this.#stranded.clear();
  }

  get #driver(): Driver {
    return this.#setup.driver;
  }

  #reclaim(): void {
    for (let i = this.#leaving.length - 1; i >= 0; i--) {
      const { slot, event } = this.#leaving[i] as Leaving;
      if (!this.#driver.queryEvent(event)) continue;
      this.#leaving.splice(i, 1);
      this.#leavingBytes -= slot.byteLength;
      this.#events.give(event);
      this.give(slot);
    }
  }
}
