import type { Allocation, BankSet } from '../memory/bank-set.ts';
import type { BankAddress } from '../protocol/command.ts';

/** Bytes per slot; larger transfers use several. */
export const SLOT_BYTES = 64 * 1024;

const SLOTS = 16;

/** Total bytes of all slots. */
export const TRANSFER_BYTES = SLOTS * SLOT_BYTES;

/** A piece of shared memory that a transfer passes through. */
export interface TransferSlot {
  readonly bytes: Uint8Array;
  readonly address: BankAddress;
}

/**
 * Shared memory between the caller's own memory, which workers cannot see, and the device's buffers, whose contents
 * change in queue order. Allocated at the first transfer.
 */
export class TransferSlots {
  readonly #banks: BankSet;
  readonly #free: TransferSlot[] = [];
  #allocation: Allocation | undefined;

  constructor(banks: BankSet) {
    this.#banks = banks;
  }

  /** Returns a free slot, or undefined if all are in use. Throws `OUT_OF_MEMORY` if none can be allocated. */
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
