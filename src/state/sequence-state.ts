/**
 * What a sequence has behind it: the memory that lets the next token be computed without the earlier ones. A KV cache is
 * one kind, a recurrent state another. Slots are rows of the batch's block table.
 */
export interface SequenceState {
  /** Most positions a sequence may have. */
  readonly context: number;
  /** Whether earlier positions stay as they were while later ones come: without, a slot can go on or begin anew, not back. */
  readonly keepsPositions: boolean;
  /** Makes room for positions `0 .. length - 1` of the slot's sequence. False, with nothing changed, when there is none. */
  reserve(slot: number, length: number): boolean;
  /**
   * Forgets positions from `length` on, and gives how many the slot still has: fewer where the last of them stand in memory
   * that another slot uses too, which must not be written. 0 gives the slot back whole; anything else only where positions
   * are kept.
   */
  truncate(slot: number, length: number): number;
  /** Positions of the smallest prefix that slots can share: prefixes are shared in whole multiples. Infinity where none can be. */
  readonly prefixUnit: number;
  /** Lets the empty slot `to` share positions `0 .. length - 1` of `from`, `length` being a multiple of `prefixUnit`. */
  sharePrefix(from: number, to: number, length: number): void;
  /** Positions that the slot has room for now. */
  reserved(slot: number): number;
  /** Writes the slot's row of the block table, `blocksPerSlot` entries. */
  writeBlocks(slot: number, row: Int32Array): void;
}
