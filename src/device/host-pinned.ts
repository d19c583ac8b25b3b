import { Lifetime } from '../base/disposal.ts';
import type { PinnedBuffer } from './memory.ts';

/** Memory of this process from which a device, or what stands for one, copies itself; it needs no pinning. */
export class HostPinned implements PinnedBuffer {
  readonly #bytes: Uint8Array;
  readonly #lifetime: Lifetime;
  readonly #ended: () => void;

  constructor(bytes: Uint8Array, label: string, ended: () => void) {
    this.#bytes = bytes;
    this.#ended = ended;
    this.#lifetime = new Lifetime(`pinned ${label}`);
  }

  get byteLength(): number {
    return this.#bytes.byteLength;
  }

  /** Throws `DISPOSED` after disposal. */
  get bytes(): Uint8Array {
    this.#lifetime.check();
    return this.#bytes;
  }

  [Symbol.dispose](): void {
    if (this.#lifetime.end()) this.#ended();
  }
}
