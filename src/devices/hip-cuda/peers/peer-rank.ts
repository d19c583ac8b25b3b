import type { Address } from '../../../device/index.ts';

/** The most ranks whose kernels can be linked. */
export const MAX_LINKED_RANKS = 8;

/** The most blocks of a kernel: `MOST_BLOCKS` of `peers.h`. Enough to fill a link; the rest of the device is left to other streams. */
export const MOST_BLOCKS = 128;

/** What the kernels of one rank need of a link over which they compute collectives themselves. */
export interface PeerRank {
  readonly kind: 'kernels';
  readonly rank: number;
  /** Every rank's inbox, in the order of the ranks; all but this rank's are in other devices' memory. */
  readonly inboxes: readonly Address[];
  /** Where this rank's kernels count epochs and blocks: `RankState` of `peers.h`. */
  readonly state: Address;
  /** The abort word, in pinned memory. */
  readonly aborted: Address;
  /** Of an inbox, for each sender and parity of the epoch. A slot holds two numbers. */
  readonly slots: number;
  /** Groups of four numbers that are sent in bulk at once; for each sender there is memory for four times as many. */
  readonly bulk: number;
  /** The bytes from which on tensors are sent in bulk. */
  readonly bulkFrom: number;
  /** The most blocks of a kernel: all have to run at the same time. */
  readonly blocks: number;
  /** How often a thread that waits looks at the abort word before it gives up. */
  readonly patience: number;
}

/** One rank of a link over which a library computes collectives. */
export interface LibraryRank {
  readonly kind: 'library';
  readonly rank: number;
  readonly ranks: number;
}
