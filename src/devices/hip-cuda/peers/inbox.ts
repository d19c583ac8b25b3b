import { alignUp } from '../../../base/bytes.ts';
import type { Address } from '../../../device/index.ts';
import type { Driver } from '../driver/driver.ts';
import { MOST_BLOCKS } from './peer-rank.ts';

/** Two words, at a boundary of their own. */
const STATE_BYTES = 256;
/** Two numbers, each with its epoch; or four. */
const SLOT_BYTES = 16;
/** `RING` of `all-reduce-bulk.hip`. */
const BULK_RING = 4;
const BOUNDARY = 256;

/** How many slots an inbox has for each sender, as `PeerRank` counts them. */
export interface InboxSizes {
  readonly ranks: number;
  readonly slots: number;
  readonly bulk: number;
}

/** What one rank of a link has in its memory: the inbox that others write, and its counters. All zero at first. */
export class Inbox implements Disposable {
  readonly #driver: Driver;
  readonly address: Address;
  readonly #bytes: number;

  /** For two parities of the epoch the slots, and for four epochs what is sent in bulk, with a flag for each block. Waits. Throws `OUT_OF_MEMORY`. */
  constructor(driver: Driver, { ranks, slots, bulk }: InboxSizes) {
    this.#driver = driver;
    const flags = alignUp(4 * ranks * MOST_BLOCKS, BOUNDARY);
    this.#bytes = alignUp(ranks * (2 * slots + BULK_RING * bulk) * SLOT_BYTES, BOUNDARY) + flags;
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
