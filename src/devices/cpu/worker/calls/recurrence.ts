import type { LerpCall, TokenShiftCall, Wkv7Call, WkvBonusCall } from '../../protocol/call-table.ts';
import type { BankInstance } from '../bank-instance.ts';
import type { KernelCall, Chunk } from '../task.ts';

/** Rows of slots that there are not are left out. */
export function tokenShiftCall(of: TokenShiftCall, bank: BankInstance, capacity: number): KernelCall {
  const { at, columns, slotCount } = of;
  const [x, out] = [bank.floats(at.x, capacity * columns), bank.floats(at.out, capacity * columns)];
  const last = bank.floats(at.last, slotCount * columns);
  const [positions, slots] = [bank.words(at.positions, capacity), bank.words(at.slots, capacity)];
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

/** A chunk is some heads; rows of slots that there are not are left out. */
export function wkv7Call(of: Wkv7Call, bank: BankInstance, capacity: number): KernelCall {
  const { at, columns, headSize, slotCount } = of;
  const { wkv7 } = bank.kernels;
  const state = bank.floats(at.state, slotCount * columns * headSize);
  const [positions, slots] = [bank.words(at.positions, capacity), bank.words(at.slots, capacity)];
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
          wkv7(
            at.state + 4 * first,
            at.r + i,
            at.w + i,
            at.k + i,
            at.v + i,
            at.kk + i,
            at.a + i,
            at.out + i,
            headSize,
          );
        }
      }
    },
  };
}

export function wkvBonusCall(of: WkvBonusCall, bank: BankInstance, capacity: number): KernelCall {
  const { at, columns, headSize } = of;
  const [r, k, v, out] = [at.r, at.k, at.v, at.out].map((offset) =>
    bank.floats(offset, capacity * columns),
  ) as [Float32Array, Float32Array, Float32Array, Float32Array];
  const weight = bank.floats(at.weight, columns);
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

export function lerpCall(
  { at, columns, weightRow }: LerpCall,
  bank: BankInstance,
  capacity: number,
): KernelCall {
  const [a, b, out] = [at.a, at.b, at.out].map((offset) => bank.floats(offset, capacity * columns)) as [
    Float32Array,
    Float32Array,
    Float32Array,
  ];
  const t = bank.floats(at.t, (weightRow === undefined ? capacity : weightRow + 1) * columns);
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
