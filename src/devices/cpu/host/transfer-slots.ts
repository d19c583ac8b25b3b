import type { Allocation, BankSet } from '../memory/bank-set.ts';
import type { BankAddress } from '../protocol/command.ts';

/** Bytes of a slot: larger transfers go through several. */
export const SLOT_BYTES = 64 * 1024;

const SLOTS = 16;

/** Bytes of all of them. */
export const TRANSFER_BYTES = SLOTS * SLOT_BYTES;

/** A piece of shared memory that a transfer passes through. */
export interface TransferSlot {
  readonly bytes: Uint8Array;
  readonly address: BankAddress;
}

/**
 * Shared memory between the caller's own memory, which workers cannot see, and the device's buffers, whose content changes
 * in the order of the queue. Set aside at the first transfer.
 */
export class TransferSlots {
  readonly #banks: BankSet;
  readonly #free: TransferSlot[] = [];
  #allocation: Allocation | undefined;

  constructor(banks: BankSet) {
    this.#banks = banks;
  }

  /** A free slot, or undefined while all are in use. Throws `OUT_OF_MEMORY` when there is no room for any. */
  take(): TransferSlot | undefined {
    if (!this.#allocation) this.#create();
    return this.#free.pop();
  }

  give(slot: TransferSlot): void {
    this.#free.push(slot);
  }

  #create(): void {
    const all = this.#banks.allocate(TRANSFER_BYTES, 'transfer slots');
    this.#allocation = all;
    for (let i = 0; i < SLOTS; i++) {
      const offset = all.offset + i * SLOT_BYTES;
      this.#free.push({
        bytes: all.bank.bytes(offset, SLOT_BYTES),
        address: { bank: all.bank.id, offset },
      });
    }
  }
}
