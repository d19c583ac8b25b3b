import { invariant } from '../base/errors.ts';

/** Hands out a group's cache blocks by number and counts the slots that use each. Bookkeeping only. */
export class BlockPool {
  readonly #free: number[];
  readonly #users: Uint32Array;

  constructor(blocks: number) {
    invariant(blocks > 0, 'a pool has blocks');
    // The lowest block is handed out first, so that a single sequence is contiguous.
    this.#free = Array.from({ length: blocks }, (_, i) => blocks - 1 - i);
    this.#users = new Uint32Array(blocks);
  }

  /** How many blocks there are. */
  get size(): number {
    return this.#users.length;
  }

  /** Blocks that no slot uses. */
  get free(): number {
    return this.#free.length;
  }

  /** Takes a free block, which then has one user. */
  take(): number {
    const block = this.#free.pop();
    invariant(block !== undefined, 'a block is free');
    this.#users[block] = 1;
    return block;
  }

  /** Adds a user to a block that is in use. */
  share(block: number): void {
    this.#users[block] = this.#usersOf(block) + 1;
  }

  /** Removes a user; a block without users is free. */
  release(block: number): void {
    const users = this.#usersOf(block) - 1;
    this.#users[block] = users;
    if (users === 0) this.#free.push(block);
  }

  /** True if several slots use a block: it must not be written. */
  isShared(block: number): boolean {
    return this.#usersOf(block) > 1;
  }

  #usersOf(block: number): number {
    const users = this.#users[block];
    invariant(users !== undefined && users > 0, `block ${block} is in use`);
    return users;
  }
}
