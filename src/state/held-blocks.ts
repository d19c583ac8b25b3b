import { KV_BLOCK_SIZE } from '../model/state-groups.ts';
import { blockHash, lineageHash } from './block-hash.ts';

/** A change of which prefixes of texts can be reused, in blocks of `KV_BLOCK_SIZE` tokens. */
export type BlockEvent =
  | {
      readonly kind: 'stored';
      /** Consecutive blocks of a text (`blockHash`). */
      readonly hashes: readonly bigint[];
      /** The block before them; undefined if they begin a text. */
      readonly parent: bigint | undefined;
      /** Their tokens. */
      readonly ids: readonly number[];
      /** What they depend on besides the tokens. */
      readonly lineage: string | undefined;
    }
  | { readonly kind: 'removed'; readonly hashes: readonly bigint[] }
  | { readonly kind: 'cleared' };

/** A slot's text, of which the first `length` positions are computed. */
interface SlotText {
  readonly slot: number;
  readonly ids: readonly number[];
  readonly length: number;
  readonly lineage?: string | undefined;
}

/**
 * Which blocks of texts the slots of a cache hold, for whoever wants to know of each block that comes to be held by some slot, and
 * of each that no slot holds any longer. The events of one turn of the event loop are told together.
 */
export class HeldBlocks {
  readonly #tell: (events: readonly BlockEvent[]) => void;
  /** The hashes of each slot's blocks, from the beginning of its text. */
  readonly #chains: bigint[][];
  /** How many slots hold each block. */
  readonly #holders = new Map<bigint, number>();
  #events: BlockEvent[] = [];

  constructor(slots: number, tell: (events: readonly BlockEvent[]) => void) {
    this.#chains = Array.from({ length: slots }, () => []);
    this.#tell = tell;
  }

  /** The slot holds whole blocks of this text, which begins as what it was said to hold. */
  hold({ slot, ids, length, lineage }: SlotText): void {
    const chain = this.#chainOf(slot);
    const whole = Math.floor(length / KV_BLOCK_SIZE);
    let run: { hashes: bigint[]; ids: number[]; parent: bigint | undefined } | undefined;
    while (chain.length < whole) {
      const first = chain.length * KV_BLOCK_SIZE;
      const block = ids.slice(first, first + KV_BLOCK_SIZE);
      // Negative ids stand for vectors, which have no hash.
      if (block.some((id) => id < 0)) break;
      const parent = chain.at(-1);
      const hash = blockHash(parent ?? (lineage === undefined ? undefined : lineageHash(lineage)), block);
      chain.push(hash);
      if (this.#add(hash)) {
        run ??= { hashes: [], ids: [], parent };
        run.hashes.push(hash);
        run.ids.push(...block);
      } else if (run) {
        this.#note({ kind: 'stored', ...run, lineage });
        run = undefined;
      }
    }
    if (run) this.#note({ kind: 'stored', ...run, lineage });
  }

  /** The slot no longer holds the positions from `length` on. */
  truncate(slot: number, length: number): void {
    const chain = this.#chainOf(slot);
    const kept = Math.floor(length / KV_BLOCK_SIZE);
    if (chain.length <= kept) return;
    const hashes = chain.splice(kept).filter((hash) => this.#remove(hash));
    // A block goes before those that it continues.
    if (hashes.length > 0) this.#note({ kind: 'removed', hashes: hashes.reverse() });
  }

  /** The empty slot `to` holds the first `length` positions of `from`. */
  share(from: number, to: number, length: number): void {
    const shared = this.#chainOf(from).slice(0, Math.floor(length / KV_BLOCK_SIZE));
    for (const hash of shared) this.#add(hash);
    this.#chains[to] = shared;
  }

  /** Nothing is held any longer. Told at once. */
  clear(): void {
    for (const slot of this.#chains.keys()) this.#chains[slot] = [];
    this.#holders.clear();
    this.#events = [];
    this.#tell([{ kind: 'cleared' }]);
  }

  #chainOf(slot: number): bigint[] {
    return this.#chains[slot] as bigint[];
  }

  /** True if no slot held it before. */
  #add(hash: bigint): boolean {
    const holders = this.#holders.get(hash) ?? 0;
    this.#holders.set(hash, holders + 1);
    return holders === 0;
  }

  /** True if no slot holds it any longer. */
  #remove(hash: bigint): boolean {
    const holders = (this.#holders.get(hash) ?? 0) - 1;
    if (holders > 0) this.#holders.set(hash, holders);
    else this.#holders.delete(hash);
    return holders <= 0;
  }

  #note(event: BlockEvent): void {
    this.#events.push(event);
    if (this.#events.length > 1) return;
    queueMicrotask(() => {
      const events = this.#events;
      this.#events = [];
      if (events.length > 0) this.#tell(events);
    });
  }
}
