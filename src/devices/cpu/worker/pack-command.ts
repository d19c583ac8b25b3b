import { invariant } from '../../../base/errors.ts';
import { formatOf, type TensorFormat } from '../../../formats/index.ts';
import type { DecodeKernel, PackKernel } from '../kernel-exports.ts';
import { weightLayoutOf } from '../lowering/weight-layout-of.ts';
import { COMMAND, PACK } from '../protocol/command.ts';
import { FILE_SCRATCH_BYTES, KERNEL_SCRATCH_BYTES } from '../protocol/reserved.ts';
import { QUAD_ROWS } from '../weight-layouts.ts';
import type { BankInstance } from './bank-instance.ts';
import type { Phase } from './chunked.ts';
import { decoderOf } from './decoder.ts';
import type { BankLookup } from './step.ts';

/** File bytes that a worker packs at a time. */
const GRAIN = 128 * 1024;

/** Packs rows of a weight from the file's layout into the kernels', divided into chunks. One object serves all. */
export class PackCommand implements Phase {
  readonly #banks: BankLookup;
  #rowsAChunk = 1;
  #rowCount = 0;
  #pack: (first: number, count: number) => void = () => {};

  constructor(banks: BankLookup) {
    this.#banks = banks;
  }

  read(words: Int32Array): void {
    const word = (at: number) => (words[at] as number) >>> 0;
    const format = formatOf(word(COMMAND.ggmlType));
    invariant(format, 'a weight has a known format');
    const columns = word(COMMAND.columns);
    const rowBytes = (columns / format.blockElements) * format.blockBytes;
    const firstRow = word(COMMAND.firstRow);
    const bank = this.#banks(word(COMMAND.targetBank));
    const target = word(COMMAND.target);
    const use = word(COMMAND.use);
    const source = this.#sourceOf(word(COMMAND.sourceBank), bank, { at: word(COMMAND.source), rowBytes });
    const packRows = packer({ bank, format, columns, target, use });
    this.#rowCount = word(COMMAND.rowCount);
    const align = use === PACK.matrix ? weightLayoutOf(format, bank.layouts).layout.rowAlignment : 1;
    this.#rowsAChunk = Math.max(align, Math.floor(GRAIN / rowBytes / align) * align);
    this.#pack = (first, count) => packRows(source(first, count), firstRow + first, count);
  }

  prepare(): number {
    return Math.ceil(this.#rowCount / this.#rowsAChunk);
  }

  run(chunk: number): void {
    const first = chunk * this.#rowsAChunk;
    this.#pack(first, Math.min(this.#rowsAChunk, this.#rowCount - first));
  }

  /**
   * Returns the address of file rows in the target's bank; rows from another bank are copied into this worker's
   * scratch.
   */
  #sourceOf(
    sourceBank: number,
    target: BankInstance,
    rows: { at: number; rowBytes: number },
  ): (first: number, count: number) => number {
    const source = this.#banks(sourceBank);
    const { at, rowBytes } = rows;
    if (source === target) return (first) => at + first * rowBytes;
    const scratch = target.scratch + KERNEL_SCRATCH_BYTES;
    return (first, count) => {
      const byteLength = count * rowBytes;
      invariant(byteLength <= FILE_SCRATCH_BYTES, 'rows of another bank fit into scratch');
      target.bytes(scratch, byteLength).set(source.bytes(at + first * rowBytes, byteLength));
      return scratch;
    };
  }
}

/** Packs `count` rows of file bytes at `source`. */
type Packer = (source: number, firstRow: number, count: number) => void;

function packer(of: {
  bank: BankInstance;
  format: TensorFormat;
  columns: number;
  target: number;
  use: number;
}): Packer {
  const { bank, format, columns, target, use } = of;
  const rowBlocks = columns / format.blockElements;
  const rowBytes = rowBlocks * format.blockBytes;
  if (use === PACK.lookup) {
    return (source, firstRow, count) => {
      bank.bytes(target + firstRow * rowBytes, count * rowBytes).set(bank.bytes(source, count * rowBytes));
    };
  }
  if (use === PACK.vector) {
    const decode: DecodeKernel = decoderOf(format, bank);
    return (source, firstRow, count) =>
      decode(source, target + firstRow * columns * 4, count * rowBlocks, bank.scratch);
  }
  const { layout, decodes } = weightLayoutOf(format, bank.layouts);
  const pack = bank.kernel<PackKernel>(layout.pack);
  if (!decodes) {
    return (source, firstRow, count) => pack(source, target, firstRow, count, columns, bank.scratch);
  }
  const decode = decoderOf(format, bank);
  const floats = bank.scratch + KERNEL_SCRATCH_BYTES + FILE_SCRATCH_BYTES;
  return (source, firstRow, count) => {
    for (let row = 0; row < count; row += QUAD_ROWS) {
      const rows = Math.min(QUAD_ROWS, count - row);
      decode(source + row * rowBytes, floats, rows * rowBlocks, bank.scratch);
      pack(floats, target, firstRow + row, rows, columns, bank.scratch);
    }
  };
}
