import { fail, invariant } from '../../../base/errors.ts';
import type { MemoryInfo } from '../../../device/index.ts';
import { Bank, type BankLimits, type Purpose } from './bank.ts';

/** A range of a bank, held until `release`. */
export interface Allocation {
  readonly bank: Bank;
  readonly offset: number;
  readonly byteLength: number;
}

export interface BankSetOptions {
  readonly limits: BankLimits;
  /** A bank with these limits that is reserved already. */
  readonly first?: Bank | undefined;
  /** Maximum total bytes of all ranges. */
  readonly memoryLimit: number;
  /** Number of banks that consecutive ranges are distributed over; 1 fills one bank after another. */
  readonly spread: number;
  /** Called for each bank before anything in it is used, so that the workers learn of it. */
  readonly onBank: (bank: Bank) => void;
}

/**
 * All memory of the device: banks, which are added when the existing ones are full. A range never spans two banks,
 * because a kernel sees only one.
 */
export class BankSet {
  readonly #options: BankSetOptions;
  readonly #banks: Bank[] = [];
  readonly #bankOf = new WeakMap<ArrayBufferLike, Bank>();
  /** The first bank, until something is in it. */
  #first: Bank | undefined;
  #used = 0;
  #turn = 0;

  constructor(options: BankSetOptions) {
    this.#options = options;
    this.#first = options.first;
  }

  get banks(): readonly Bank[] {
    return this.#banks;
  }

  info(): MemoryInfo {
    const total = this.#options.memoryLimit;
    return { total, free: Math.max(0, total - this.#used) };
  }

  /** Maximum bytes of a range. */
  get largestRange(): number {
    const { byteLength, reservedBytes, stagingBytes } = this.#options.limits;
    return byteLength - reservedBytes - stagingBytes;
  }

  /** Throws `OUT_OF_MEMORY`, with `what` as the subject, if the limit or the platform does not allow it. */
  allocate(byteLength: number, what: string): Allocation {
    const { free } = this.info();
    if (byteLength > free) fail('OUT_OF_MEMORY', { device: 'cpu', what, bytes: byteLength, free });
    const allocation = this.#inBanks(byteLength) ?? this.#inNewBank(byteLength);
    if (!allocation) {
      fail('OUT_OF_MEMORY', {
        device: 'cpu',
        what,
        bytes: byteLength,
        free: Math.min(free, this.largestRange),
      });
    }
    this.#used += byteLength;
    return allocation;
  }

  /** Allocates memory in a given bank for operands from other banks. */
  allocateStaging(bank: Bank, byteLength: number, what: string): Allocation {
    const offset = this.#reserve(bank, byteLength, 'staging');
    if (offset === undefined) {
      fail('OUT_OF_MEMORY', {
        device: 'cpu',
        what,
        bytes: byteLength,
        free: this.#options.limits.stagingBytes,
      });
    }
    this.#used += byteLength;
    return { bank, offset, byteLength };
  }

  release(allocation: Allocation): void {
    allocation.bank.release(allocation.offset, allocation.byteLength);
    this.#used -= allocation.byteLength;
  }

  /** A view of a range, which `bankOfView` recognizes. */
  view(allocation: Allocation): Uint8Array {
    const bytes = allocation.bank.bytes(allocation.offset, allocation.byteLength);
    this.#bankOf.set(bytes.buffer, allocation.bank);
    return bytes;
  }

  /** The device's bytes at an address. */
  bytes(bank: number, offset: number, byteLength: number): Uint8Array {
    const found = this.#banks[bank];
    invariant(found, `bank ${bank} exists`);
    return found.bytes(offset, byteLength);
  }

  /** The bank of a view created by `view`; undefined for all other memory. */
  bankOfView(bytes: Uint8Array): Bank | undefined {
    return this.#bankOf.get(bytes.buffer);
  }

  /** Forgets the banks; their memory is freed when the last view and worker release it. */
  clear(): void {
    this.#banks.length = 0;
    this.#first = undefined;
    this.#used = 0;
  }

  #inBanks(byteLength: number): Allocation | undefined {
    const { spread } = this.#options;
    if (this.#banks.length < spread) return undefined;
    // From the last bank on: what a step computes with then lies together, and not in gaps behind the first weights.
    const last = this.#banks.length - (this.#turn++ % spread);
    const banks = [...this.#banks.slice(last), ...this.#banks.slice(0, last)].toReversed();
    for (const bank of banks) {
      const offset = this.#leavesWideGaps(bank, byteLength) ? bank.allocate(byteLength) : undefined;
      if (offset !== undefined) return { bank, offset, byteLength };
    }
    for (const bank of banks) {
      const offset = this.#reserve(bank, byteLength, 'buffer');
      if (offset !== undefined) return { bank, offset, byteLength };
    }
    return undefined;
  }

  /** Whether a model has left a bank, so that others are to be filled there before a bank grows that never shrinks again. */
  #leavesWideGaps(bank: Bank, byteLength: number): boolean {
    return bank.freeBytes - byteLength >= this.#options.limits.byteLength / 8;
  }

  #inNewBank(byteLength: number): Allocation | undefined {
    const bank = this.#newBank();
    if (!bank) return undefined;
    const offset = this.#reserve(bank, byteLength, 'buffer');
    if (offset === undefined) return undefined;
    this.#first = undefined;
    this.#banks.push(bank);
    this.#options.onBank(bank);
    return { bank, offset, byteLength };
  }

  #newBank(): Bank | undefined {
    if (this.#first) return this.#first;
    try {
      return new Bank(this.#banks.length, this.#options.limits);
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  }

  /** Allocates a range from a gap, or from new pages if no gap is large enough and the platform has them. */
  #reserve(bank: Bank, byteLength: number, purpose: Purpose): number | undefined {
    const offset = bank.allocate(byteLength);
    if (offset !== undefined) return offset;
    const growth = bank.growthFor(byteLength, purpose);
    if (growth === undefined) return undefined;
    try {
      bank.grow(growth);
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
    return bank.allocate(byteLength);
  }
}
