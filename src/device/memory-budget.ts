import { fail } from '../base/errors.ts';
import type { MemoryInfo } from './device.ts';

/** Counts the bytes of a device's buffers against a limit, for devices whose memory has no driver that would. */
export class MemoryBudget {
  #used = 0;

  /** `device` names it in `OUT_OF_MEMORY`. */
  constructor(
    readonly device: string,
    readonly total: number,
  ) {}

  get info(): MemoryInfo {
    return { total: this.total, free: this.total - this.#used };
  }

  /** Takes bytes for a buffer; throws `OUT_OF_MEMORY` when too few are free. */
  take(bytes: number, what: string): void {
    const { free } = this.info;
    if (bytes > free) fail('OUT_OF_MEMORY', { device: this.device, what, bytes, free });
    this.#used += bytes;
  }

  give(bytes: number): void {
    this.#used -= bytes;
  }
}
