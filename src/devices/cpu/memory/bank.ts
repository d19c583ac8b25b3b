import type { WasmMemory } from '../../../base/web-types.ts';
import { alignUp } from '../../../base/bytes.ts';
import { BUFFER_ALIGNMENT } from '../../../device/index.ts';
import { BankAllocator } from './bank-allocator.ts';

const PAGE = 65536;

/** Maximum size of a WebAssembly memory with 32-bit addresses, minus a page so that its end is an address too. */
export const MAX_BANK = 65535 * PAGE;

/** Growing is a system call that interrupts every worker, so a bank grows by at least this much. */
const GROWTH = 16 * 1024 * 1024;

/** How a bank may use its memory. */
export interface BankLimits {
  /** Total bytes. */
  readonly byteLength: number;
  /** Bytes at the start that belong to the kernels: their constants and the workers' scratch. */
  readonly reservedBytes: number;
  /** Bytes that buffers leave for the staging areas of steps with operands in several banks. */
  readonly stagingBytes: number;
}

/** Smaller reservations than this are not tried. */
const LEAST_BANK = 64 * 1024 * 1024;

/**
 * The first bank, as large as the platform reserves it: where a memory's maximum takes address space at once, as on iOS, 4 GiB are
 * refused. Undefined, with the largest limits, if nothing is reserved at all.
 */
export function reserveBank(
  most: number,
  limitsOf: (byteLength: number) => BankLimits,
): { readonly limits: BankLimits; readonly bank: Bank | undefined } {
  for (let byteLength = most; byteLength === most || byteLength >= LEAST_BANK;) {
    const limits = limitsOf(byteLength);
    try {
      return { limits, bank: new Bank(0, limits) };
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      byteLength = Math.floor(byteLength / 2);
    }
  }
  return { limits: limitsOf(most), bank: undefined };
}

/** The purpose of an allocation: buffers stop growing a bank earlier than staging does. */
export type Purpose = 'buffer' | 'staging';

/** One shared WebAssembly memory: an address space of at most 4 GiB that every worker's kernels see. */
export class Bank {
  readonly memory: WasmMemory;
  readonly #allocator: BankAllocator;
  readonly #limits: Readonly<Record<Purpose, number>>;

  /** Throws a RangeError if the platform cannot allocate it. */
  constructor(
    readonly id: number,
    limits: BankLimits,
  ) {
    const maximum = Math.floor(limits.byteLength / PAGE);
    this.#limits = { buffer: maximum * PAGE - alignUp(limits.stagingBytes, PAGE), staging: maximum * PAGE };
    const initial = Math.ceil(limits.reservedBytes / PAGE);
    this.memory = new WebAssembly.Memory({ initial, maximum, shared: true });
    this.#allocator = new BankAllocator(limits.reservedBytes, BUFFER_ALIGNMENT);
    this.#allocator.extend(initial * PAGE);
  }

  /** Bytes that the platform has allocated so far. */
  get byteLength(): number {
    return this.memory.buffer.byteLength;
  }

  /** Bytes of all gaps within the current memory. */
  get freeBytes(): number {
    return this.#allocator.freeBytes;
  }

  /** The offset of a new range within the current memory, or undefined. */
  allocate(byteLength: number): number | undefined {
    return this.#allocator.allocate(byteLength);
  }

  /** Bytes that must be added for `byteLength` to fit; undefined if the bank cannot grow that far. */
  growthFor(byteLength: number, purpose: Purpose): number | undefined {
    const missing = alignUp(this.#allocator.missingBytes(byteLength), PAGE);
    const room = this.#limits[purpose] - this.#allocator.end;
    return missing > room ? undefined : Math.min(room, Math.max(missing, GROWTH));
  }

  /** Adds bytes, a multiple of the page size. Throws a RangeError if the platform refuses. */
  grow(byteLength: number): void {
    this.memory.grow(byteLength / PAGE);
    this.#allocator.extend(this.#allocator.end + byteLength);
  }

  release(offset: number, byteLength: number): void {
    this.#allocator.release(offset, byteLength);
  }

  /** A view that stays valid when the memory grows, because shared memory never moves. */
  bytes(offset: number, byteLength: number): Uint8Array {
    return new Uint8Array(this.memory.buffer, offset, byteLength);
  }
}
