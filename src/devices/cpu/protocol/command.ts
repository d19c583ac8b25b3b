/**
 * Commands as words of the ring. A command is written by `write...` and read through `COMMAND`'s offsets; addresses and
 * lengths are unsigned 32-bit numbers.
 */

/** What a command does: word 0. */
export const COMMAND_KIND = { run: 1, copy: 2, pack: 3 } as const;

/** What a weight is packed for. */
export const PACK = { lookup: 0, vector: 1, matrix: 2 } as const;

/** Offsets of a command's operands. */
export const COMMAND = {
  kind: 0,
  /** `run`: the step's id. */
  step: 1,
  /** `copy` and `pack`: from here ... */
  sourceBank: 1,
  source: 2,
  /** ... to here. */
  targetBank: 3,
  target: 4,
  /** `copy`: byte length. */
  byteLength: 5,
  /** `pack`: the weight's use, and its tensor format (ggml's id). */
  use: 5,
  ggmlType: 6,
  /** `pack`: the width of the rows, and which of them are at `source`. */
  columns: 7,
  firstRow: 8,
  rowCount: 9,
  /** Number of announcements that every worker must have read before the command starts. */
  announced: 10,
} as const;

/** A range in a bank. */
export interface BankAddress {
  readonly bank: number;
  readonly offset: number;
}

export function writeRun(words: Int32Array, step: number): void {
  words[COMMAND.kind] = COMMAND_KIND.run;
  words[COMMAND.step] = step;
}

function writeEnds(words: Int32Array, source: BankAddress, target: BankAddress): void {
  words[COMMAND.sourceBank] = source.bank;
  words[COMMAND.source] = source.offset;
  words[COMMAND.targetBank] = target.bank;
  words[COMMAND.target] = target.offset;
}

export function writeCopy(
  words: Int32Array,
  of: { source: BankAddress; target: BankAddress; byteLength: number },
): void {
  words[COMMAND.kind] = COMMAND_KIND.copy;
  writeEnds(words, of.source, of.target);
  words[COMMAND.byteLength] = of.byteLength;
}

/** Rows of a part of a weight to be packed. */
export interface PackWork {
  readonly source: BankAddress;
  readonly target: BankAddress;
  /** One of `PACK`. */
  readonly use: number;
  readonly ggmlType: number;
  readonly columns: number;
  readonly firstRow: number;
  readonly rowCount: number;
}

export function writePack(words: Int32Array, of: PackWork): void {
  words[COMMAND.kind] = COMMAND_KIND.pack;
  writeEnds(words, of.source, of.target);
  words[COMMAND.use] = of.use;
  words[COMMAND.ggmlType] = of.ggmlType;
  words[COMMAND.columns] = of.columns;
  words[COMMAND.firstRow] = of.firstRow;
  words[COMMAND.rowCount] = of.rowCount;
}
