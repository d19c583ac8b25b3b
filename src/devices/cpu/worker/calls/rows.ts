import { invariant } from '../../../../base/errors.ts';
import { formatOf } from '../../../../formats/index.ts';
import {
  type ConcatOp,
  ELEMENT_BYTES,
  type EmbedOp,
  type GatherRowsOp,
  RopeAngles,
  type RopeTableOp,
  type SliceOp,
  type TokenAppendOp,
} from '../../../../ops/index.ts';
import type { Placed, PlacedTensor, StageCall } from '../../protocol/call-table.ts';
import type { BankInstance } from '../bank-instance.ts';
import { decoderOf } from '../decoder.ts';
import type { CallPlace, Chunk, KernelCall } from '../task.ts';

/** Rows of memory as views. */
export function rowWords(
  of: { readonly positions: PlacedTensor; readonly slots: PlacedTensor },
  bank: BankInstance,
  capacity: number,
): { readonly positions: Int32Array; readonly slots: Int32Array } {
  return { positions: bank.words(of.positions.at, capacity), slots: bank.words(of.slots.at, capacity) };
}

export function embedCall(
  { ids, table, out }: Placed<EmbedOp>,
  bank: BankInstance,
  capacity: number,
): KernelCall {
  const { columns, rows: tableRows } = table;
  const format = formatOf(table.ggmlType);
  invariant(format, 'a table has a known format');
  const decode = decoderOf(format, bank);
  const blocks = columns / format.blockElements;
  const rowBytes = blocks * format.blockBytes;
  const idWords = bank.words(ids.at, capacity);
  const results = bank.floats(out.at, capacity * columns);
  return {
    columns,
    run({ firstRow, endRow }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const id = idWords[row] as number;
        const known = id >= 0 && id < tableRows;
        if (known) decode(table.at + id * rowBytes, out.at + 4 * row * columns, blocks, bank.scratch);
        else results.fill(0, row * columns, (row + 1) * columns);
      }
    },
  };
}

/** Rows are copied in 32-bit words. */
export function gatherCall(
  of: Placed<GatherRowsOp>,
  bank: BankInstance,
  capacity: number,
  place: CallPlace,
): KernelCall {
  const columns = (of.out.width * ELEMENT_BYTES[of.out.type]) / 4;
  const x = bank.words(of.x.at, place.capacity.rows * columns);
  const index = bank.words(of.index.at, capacity);
  const out = bank.words(of.out.at, capacity * columns);
  return {
    columns,
    run({ firstRow, endRow }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const from = (index[row] as number) * columns;
        if (from >= 0 && from < x.length) out.set(x.subarray(from, from + columns), row * columns);
      }
    },
  };
}

export function sliceCall(of: Placed<SliceOp>, bank: BankInstance, capacity: number): KernelCall {
  const { offset, segmentWidth, stride } = of;
  const [columns, sourceColumns] = [of.out.width, of.x.width];
  const x = bank.words(of.x.at, capacity * sourceColumns);
  const out = bank.words(of.out.at, capacity * columns);
  return {
    columns,
    run({ firstRow, endRow }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        let from = row * sourceColumns + offset;
        for (let i = 0; i < columns; i += segmentWidth, from += stride) {
          out.set(x.subarray(from, from + segmentWidth), row * columns + i);
        }
      }
    },
  };
}

export function concatCall(of: Placed<ConcatOp>, bank: BankInstance, capacity: number): KernelCall {
  const { aPart, bPart } = of;
  const [columns, aColumns, bColumns] = [of.out.width, of.a.width, of.b.width];
  const a = bank.words(of.a.at, capacity * aColumns);
  const b = bank.words(of.b.at, capacity * bColumns);
  const out = bank.words(of.out.at, capacity * columns);
  return {
    columns,
    run({ firstRow, endRow }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        let to = row * columns;
        for (let part = 0; part < aColumns / aPart; part++, to += aPart + bPart) {
          const fromA = row * aColumns + part * aPart;
          const fromB = row * bColumns + ((part * bPart) % bColumns);
          out.set(a.subarray(fromA, fromA + aPart), to);
          out.set(b.subarray(fromB, fromB + bPart), to + aPart);
        }
      }
    },
  };
}

/** Ids beyond the history's end are dropped. */
export function tokenAppendCall(of: Placed<TokenAppendOp>, bank: BankInstance, capacity: number): KernelCall {
  const { rows: historyRows, width: historyWidth } = of.history;
  const history = bank.words(of.history.at, historyRows * historyWidth);
  const tokens = bank.words(of.tokens.at, of.tokens.rows);
  const out = bank.words(of.out.at, capacity);
  const ids = bank.words(of.batch.ids.at, capacity);
  const { positions, slots } = rowWords(of.batch, bank, capacity);
  return {
    columns: 1,
    run({ firstRow, endRow }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const given = ids[row] as number;
        const id = given < 0 ? (tokens[-1 - given] ?? -1) : given;
        out[row] = id;
        const position = positions[row] as number;
        const slot = slots[row] as number;
        if (position < 0 || position >= historyWidth || slot < 0 || slot >= historyRows) continue;
        history[slot * historyWidth + position] = id;
      }
    },
  };
}

export function ropeTableCall(of: Placed<RopeTableOp>, bank: BankInstance, capacity: number): KernelCall {
  const columns = of.out.width;
  const positions = bank.words(of.positions.at, capacity);
  const out = bank.floats(of.out.at, capacity * columns);
  const factors = of.factors && bank.floats(of.factors.at, columns / 2);
  const turns = new RopeAngles(of.parameters, factors);
  return {
    columns,
    run({ firstRow, endRow }: Chunk) {
      for (let row = firstRow; row < endRow; row++) turns.fill(positions[row] as number, out, row * columns);
    },
  };
}

/** Copies between two banks. */
export function stageCall(
  of: StageCall,
  source: BankInstance,
  target: BankInstance,
  capacity: number,
): KernelCall {
  const { columns, rowUnit } = of;
  const rows = Math.ceil(capacity / rowUnit) * rowUnit;
  const from = source.bytes(of.source.offset, rows * columns);
  const to = target.bytes(of.target.offset, rows * columns);
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      const begin = Math.floor(firstRow / rowUnit) * rowUnit * columns + firstColumn;
      const end = Math.ceil(endRow / rowUnit) * rowUnit * columns - (columns - endColumn);
      to.set(from.subarray(begin, end), begin);
    },
  };
}
