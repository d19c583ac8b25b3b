import { Lifetime } from '../../../base/disposal.ts';
import { fail } from '../../../base/errors.ts';
import {
  type BufferRange,
  checkRange,
  type DeviceBuffer,
  type PinnedBuffer,
  type RangeUse,
} from '../../../device/index.ts';
import type { Allocation, BankSet } from './bank-set.ts';

/** A buffer's context: the memory it belongs to, and who is notified when it is disposed. */
export interface BufferOwner {
  readonly banks: BankSet;
  released(buffer: CpuBuffer): void;
}

/** A range of a bank. All memory of this device is host memory, so any buffer can be pinned. */
export class CpuBuffer implements DeviceBuffer, PinnedBuffer {
  readonly #owner: BufferOwner;
  readonly #lifetime: Lifetime;
  readonly #bytes: Uint8Array;

  constructor(
    readonly label: string,
    readonly allocation: Allocation,
    owner: BufferOwner,
  ) {
    this.#owner = owner;
    this.#lifetime = new Lifetime(`buffer ${label}`);
    this.#bytes = owner.banks.view(allocation);
  }

  get byteLength(): number {
    return this.allocation.byteLength;
  }

  get bytes(): Uint8Array {
    this.#lifetime.check();
    return this.#bytes;
  }

  /** Throws `DISPOSED` after disposal; otherwise returns whether the buffer belongs to these banks. */
  isOf(banks: BankSet): boolean {
    this.#lifetime.check();
    return banks === this.#owner.banks;
  }

  [Symbol.dispose](): void {
    if (!this.#lifetime.end()) return;
    this.#owner.banks.release(this.allocation);
    this.#owner.released(this);
  }
}

/** The location of a range: a bank, and the bytes within it. */
export interface Place {
  readonly bank: number;
  readonly offset: number;
  readonly byteLength: number;
}

/** The use of a range: by which device's memory, and how messages name it. */
export interface PlaceUse extends RangeUse {
  readonly banks: BankSet;
}

/** The buffer of a caller's handle. Throws `BINDING` for another device's, `DISPOSED` for a disposed one. */
export function ownBuffer(buffer: DeviceBuffer | PinnedBuffer, use: PlaceUse): CpuBuffer {
  if (!(buffer instanceof CpuBuffer && buffer.isOf(use.banks))) {
    const { graph, value } = use;
    const found = 'memory of another device';
    fail('BINDING', { graph, value, found, expected: 'a buffer of this device' });
  }
  return buffer;
}

/** The location of a caller's range that has at least `needed` bytes. Throws `BINDING` or `DISPOSED`. */
export function placeOf(range: BufferRange, needed: number, use: PlaceUse): Place {
  const { bank, offset } = ownBuffer(range.buffer, use).allocation;
  checkRange(range, needed, use);
  return { bank: bank.id, offset: offset + range.offset, byteLength: range.byteLength };
}
