import type { GPUDevice } from '../../../base/web-types.ts';
import { MappedPinned } from './mapped-pinned.ts';

const MIN_BYTES = 64 << 10;
/** Maximum bytes of idle slots. */
const MAX_IDLE_BYTES = 32 << 20;

/** Mapped memory for data that is not in mapped memory yet, reused. */
export class StagingPool {
  readonly #device: GPUDevice;
  readonly #idle: MappedPinned[] = [];

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** A slot of at least this size, owned by the caller until `giveAfter`. */
  take(byteLength: number): MappedPinned {
    const size = Math.max(MIN_BYTES, 2 ** Math.ceil(Math.log2(byteLength)));
    const at = this.#idle.findIndex((slot) => slot.byteLength === size);
    const [known] = at < 0 ? [] : this.#idle.splice(at, 1);
    const of = { device: this.#device, ended: () => {} };
    return known ?? new MappedPinned(size, 'staging', of);
  }

  /** Returns a slot to the pool once the host may write it again. */
  async giveAfter(slot: MappedPinned, handedBack: Promise<void>): Promise<void> {
    await handedBack;
    const idle = this.#idle.reduce((sum, { byteLength }) => sum + byteLength, 0);
    if (idle + slot.byteLength > MAX_IDLE_BYTES) slot[Symbol.dispose]();
    else this.#idle.push(slot);
  }

  dispose(): void {
    for (const slot of this.#idle.splice(0)) slot[Symbol.dispose]();
  }
}
