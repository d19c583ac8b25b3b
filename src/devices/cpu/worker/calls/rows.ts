import { RopeAngles } from '../../../../ops/index.ts';
import type {
  GatherCall,
  RopeTableCall,
  SliceCall,
  StageCall,
  TokenAppendCall,
} from '../../protocol/call-table.ts';
import type { BankInstance } from '../bank-instance.ts';
import type { KernelCall, Chunk } from '../task.ts';

export function gatherCall(
  { at, columns, sourceRows }: GatherCall,
  bank: BankInstance,
  capacity: number,
): KernelCall {
  const x = bank.words(at.x, sourceRows * columns);
  const index = bank.words(at.index, capacity);
  const out = bank.words(at.out, capacity * columns);
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

export function sliceCall(of: SliceCall, bank: BankInstance, capacity: number): KernelCall {
  const { at, columns, first, sourceColumns } = of;
  const x = bank.words(at.x, capacity * sourceColumns);
  const out = bank.words(at.out, capacity * columns);
  return {
    columns,
    run({ firstRow, endRow }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const from = row * sourceColumns + first;
        out.set(x.subarray(from, from + columns), row * columns);
      }
    },
  };
}

/** Ids beyond the history's end are dropped. */
export function tokenAppendCall(of: TokenAppendCall, bank: BankInstance, capacity: number): KernelCall {
  const { at, historyRows, historyWidth, tokenCount } = of;
  const history = bank.words(at.history, historyRows * historyWidth);
  const tokens = bank.words(at.tokens, tokenCount);
  const out = bank.words(at.out, capacity);
  const [ids, positions, slots] = [at.ids, at.positions, at.slots].map((offset) =>
    bank.words(offset, capacity),
  ) as [Int32Array, Int32Array, Int32Array];
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

export function ropeTableCall(of: RopeTableCall, bank: BankInstance, capacity: number): KernelCall {
  const { at, columns, parameters } = of;
  const positions = bank.words(at.positions, capacity);
  const out = bank.floats(at.out, capacity * columns);
  const factors = at.factors === undefined ? undefined : bank.floats(at.factors, columns / 2);
  const turns = new RopeAngles(parameters, factors);
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
