import { fail } from '../base/errors.ts';
import type { MemoryInfo } from './device.ts';

/** Counts bytes against a limit: for a device's buffers if no driver does, or for pinned host memory. */
export class MemoryBudget {
  readonly #used: BigInt64Array;

  /** `device` is the name in `OUT_OF_MEMORY`. `used` is the counter that threads sharing the budget use. */
  constructor(
    readonly device: string,
    readonly total: number,
    used: BigInt64Array = new BigInt64Array(1),
  ) {
    this.#used = used;
  }

  get info(): MemoryInfo {
    return { total: this.total, free: this.total - Number(Atomics.load(this.#used, 0)) };
  }

  /** Takes bytes; throws `OUT_OF_MEMORY` if too few are free. */
  take(bytes: number, what: string): void {
    const free = this.total - Number(Atomics.add(this.#used, 0, BigInt(bytes)));
    if (bytes <= free) return;
    this.give(bytes);
    fail('OUT_OF_MEMORY', { device: this.device, what, bytes, free });
  }

  give(bytes: number): void {
    Atomics.sub(this.#used, 0, BigInt(bytes));
  }
}
