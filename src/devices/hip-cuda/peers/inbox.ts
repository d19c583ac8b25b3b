import type { Address } from '../../../device/index.ts';
import type { Driver } from '../driver/driver.ts';

/** Two words, at a boundary of their own. */
const STATE_BYTES = 256;
/** Two numbers, each with its epoch. */
const SLOT_BYTES = 16;

/** What one rank of a link has in its memory: the inbox that others write, and its counters. All zero at first. */
export class Inbox implements Disposable {
  readonly #driver: Driver;
  readonly address: Address;
  readonly #bytes: number;

  /** For two parities of the epoch, `ranks` senders, `slots` slots. Waits. Throws `OUT_OF_MEMORY`. */
  constructor(driver: Driver, ranks: number, slots: number) {
    this.#driver = driver;
    this.#bytes = 2 * ranks * slots * SLOT_BYTES;
    this.address = driver.allocateShared(this.#bytes + STATE_BYTES, 'inbox');
    try {
      this.#clear();
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  /** The address of its counters. */
  get state(): Address {
    return this.address + this.#bytes;
  }

  [Symbol.dispose](): void {
    this.#driver.free(this.address);
  }

  #clear(): void {
    const stream = this.#driver.createStream('inbox');
    try {
      this.#driver.fill(this.address, 0, this.#bytes + STATE_BYTES, stream);
      this.#driver.synchronizeStream(stream);
    } finally {
      this.#driver.destroyStream(stream);
    }
  }
}
