import type { LerpOp, TokenShiftOp, Wkv7Op, WkvBonusOp } from '../../../../ops/index.ts';
import type { Placed } from '../../protocol/call-table.ts';
import type { BankInstance } from '../bank-instance.ts';
import type { KernelCall, Chunk } from '../task.ts';
import { rowWords } from './rows.ts';

/** Rows with an invalid slot are skipped. */
export function tokenShiftCall(of: Placed<TokenShiftOp>, bank: BankInstance, capacity: number): KernelCall {
  const columns = of.out.width;
  const slotCount = of.last.rows;
  const [x, out] = [bank.floats(of.x.at, capacity * columns), bank.floats(of.out.at, capacity * columns)];
  const last = bank.floats(of.last.at, slotCount * columns);
  const { positions, slots } = rowWords(of.batch, bank, capacity);
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const slot = slots[row] as number;
        if (slot < 0 || slot >= slotCount) continue;
        const begins = positions[row] === 0;
        for (let i = firstColumn; i < endColumn; i++) {
          out[row * columns + i] = begins ? 0 : (last[slot * columns + i] as number);
          last[slot * columns + i] = x[row * columns + i] as number;
        }
      }
    },
  };
}

/** A chunk consists of heads; rows with an invalid slot are skipped. */
export function wkv7Call(of: Placed<Wkv7Op>, bank: BankInstance, capacity: number): KernelCall {
  const { headSize } = of;
  const columns = of.out.width;
  const slotCount = of.state.rows;
  const [r, w, k, v, kk, a, out] = [of.r.at, of.w.at, of.k.at, of.v.at, of.kk.at, of.a.at, of.out.at];
  const { wkv7 } = bank.kernels;
  const state = bank.floats(of.state.at, slotCount * columns * headSize);
  const { positions, slots } = rowWords(of.batch, bank, capacity);
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const slot = slots[row] as number;
        if (slot < 0 || slot >= slotCount) continue;
        for (let head = firstColumn; head < endColumn; head += headSize) {
          const first = (slot * columns + head) * headSize;
          if (positions[row] === 0) state.fill(0, first, first + headSize * headSize);
          const i = 4 * (row * columns + head);
          wkv7(of.state.at + 4 * first, r + i, w + i, k + i, v + i, kk + i, a + i, out + i, headSize);
        }
      }
    },
  };
}

export function wkvBonusCall(of: Placed<WkvBonusOp>, bank: BankInstance, capacity: number): KernelCall {
  const { headSize } = of;
  const columns = of.out.width;
  const [r, k, v, out] = [of.r, of.k, of.v, of.out].map(({ at }) => bank.floats(at, capacity * columns)) as [
    Float32Array,
    Float32Array,
    Float32Array,
    Float32Array,
  ];
  const weight = bank.floats(of.weight.at, columns);
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const start = row * columns;
        for (let head = firstColumn; head < endColumn; head += headSize) {
          let sum = 0;
          for (let i = head; i < head + headSize; i++) {
            sum += (r[start + i] as number) * (k[start + i] as number) * (weight[i] as number);
          }
          for (let i = head; i < head + headSize; i++) out[start + i] = (v[start + i] as number) * sum;
        }
      }
    },
  };
}

export function lerpCall(of: Placed<LerpOp>, bank: BankInstance, capacity: number): KernelCall {
  const columns = of.out.width;
  const [a, b, out] = [of.a, of.b, of.out].map(({ at }) => bank.floats(at, capacity * columns)) as [
    Float32Array,
    Float32Array,
    Float32Array,
  ];
  const weightRow = of.t.kind === 'weight' ? of.row : undefined;
  const t = bank.floats(of.t.at, (weightRow === undefined ? capacity : weightRow + 1) * columns);
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const share = (weightRow ?? row) * columns;
        for (let i = firstColumn; i < endColumn; i++) {
          const from = a[row * columns + i] as number;
          const way = (b[row * columns + i] as number) - from;
          out[row * columns + i] = from + way * (t[share + i] as number);
        }
      }
    },
  };
}
