import { fail } from '../base/errors.ts';
import type { MemoryInfo } from './device.ts';

/** Counts bytes against a limit: of a device's buffers, where no driver does, or of what is pinned of the host's memory. */
export class MemoryBudget {
  readonly #used: BigInt64Array;

  /** `device` names it, or the host, in `OUT_OF_MEMORY`. `used` is what threads that share the budget count in. */
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

  /** Takes bytes; throws `OUT_OF_MEMORY` when too few are free. */
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
