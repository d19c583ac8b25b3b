import type { Place } from '../memory/cpu-buffer.ts';
import { type BankAddress, writeCopy } from '../protocol/command.ts';
import { SLOT_BYTES, type TransferSlot, type TransferSlots } from './transfer-slots.ts';
import type { Retirement, Work, WorkQueue } from './work-queue.ts';

/** An address within a range. */
export function within(place: BankAddress, offset: number): BankAddress {
  return { bank: place.bank, offset: place.offset + offset };
}

/** Frees a slot when its command is done; nobody waits for that alone. */
class GiveBack implements Retirement {
  readonly awaited = false;

  constructor(
    readonly slots: TransferSlots,
    readonly slot: TransferSlot,
  ) {}

  retire(): void {
    this.slots.give(this.slot);
  }

  abandon(): void {}
}

/** The device's parts that a transfer uses. */
export interface TransferContext {
  readonly slots: TransferSlots;
  /** The device's bytes at an address. */
  view(place: BankAddress, byteLength: number): Uint8Array;
}

/**
 * Copies the caller's bytes into a buffer: written directly by the host if the workers are idle, otherwise through
 * slots.
 */
export class Upload implements Work {
  #at = 0;

  constructor(
    readonly context: TransferContext,
    readonly source: Uint8Array,
    readonly target: Place,
  ) {}

  issue(queue: WorkQueue): boolean {
    while (this.#at < this.source.length) {
      const piece = this.source.subarray(this.#at, this.#at + SLOT_BYTES);
      const target = within(this.target, this.#at);
      if (this.source.length <= SLOT_BYTES && queue.drained) {
        this.context.view(target, piece.length).set(piece);
      } else if (!this.#throughSlot(queue, piece, target)) return false;
      this.#at += piece.length;
    }
    return true;
  }

  abandon(): void {}

  #throughSlot(queue: WorkQueue, piece: Uint8Array, target: BankAddress): boolean {
    const { slots } = this.context;
    const slot = slots.take();
    if (!slot) return false;
    slot.bytes.set(piece);
    const copy = { source: slot.address, target, byteLength: piece.length };
    const written = queue.command((words) => writeCopy(words, copy), new GiveBack(slots, slot));
    if (!written) slots.give(slot);
    return written;
  }
}

/** Copies a buffer's bytes into the caller's memory, as they are when the queue reaches this point. */
export class Download implements Work {
  readonly done: Promise<void>;
  #resolve: () => void = () => {};
  #reject: (error: Error) => void = () => {};
  #issued = 0;
  #arrived = 0;

  constructor(
    readonly context: TransferContext,
    readonly source: Place,
    readonly into: Uint8Array,
  ) {
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  issue(queue: WorkQueue): boolean {
    const { into, source } = this;
    if (into.length <= SLOT_BYTES && queue.drained) {
      into.set(this.context.view(source, into.length));
      this.#resolve();
      return true;
    }
    while (this.#issued < into.length) {
      const piece = into.subarray(this.#issued, this.#issued + SLOT_BYTES);
      if (!this.#throughSlot(queue, piece, within(source, this.#issued))) return false;
      this.#issued += piece.length;
    }
    return true;
  }

  abandon(error: Error): void {
    this.#reject(error);
  }

  #throughSlot(queue: WorkQueue, piece: Uint8Array, source: BankAddress): boolean {
    const { slots } = this.context;
    const slot = slots.take();
    if (!slot) return false;
    const copy = { source, target: slot.address, byteLength: piece.length };
    const written = queue.command((words) => writeCopy(words, copy), {
      awaited: true,
      retire: () => {
        piece.set(slot.bytes.subarray(0, piece.length));
        slots.give(slot);
        this.#arrived += piece.length;
        if (this.#arrived === this.into.length) this.#resolve();
      },
      abandon: (error) => this.#reject(error),
    });
    if (!written) slots.give(slot);
    return written;
  }
}

/** A command that needs nothing but space in the ring. */
export class Command implements Work {
  constructor(readonly write: (words: Int32Array) => void) {}

  issue(queue: WorkQueue): boolean {
    return queue.command(this.write);
  }

  abandon(): void {}
}
