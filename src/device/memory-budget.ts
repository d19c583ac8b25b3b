import { fail } from '../base/errors.ts';
import type { MemoryInfo } from './device.ts';

/** Counts bytes against a limit: of a device's buffers, where no driver does, or of what is pinned of the host's memory. */
export class MemoryBudget {
  #used = 0;

  /** `device` names it, or the host, in `OUT_OF_MEMORY`. */
  constructor(
    readonly device: string,
    readonly total: number,
  ) {}

  get info(): MemoryInfo {
    return { total: this.total, free: this.total - this.#used };
  }

  /** Takes bytes; throws `OUT_OF_MEMORY` when too few are free. */
  take(bytes: number, what: string): void {
    const { free } = this.info;
    if (bytes > free) fail('OUT_OF_MEMORY', { device: this.device, what, bytes, free });
    this.#used += bytes;
  }

  give(bytes: number): void {
    this.#used -= bytes;
  }
}
