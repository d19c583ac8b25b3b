import {
  ACTIVATIONS,
  type CausalConvOp,
  type GatedDeltaOp,
  type SelectiveScanOp,
} from '../../../../ops/index.ts';
import type { Placed } from '../../protocol/call-table.ts';
import type { BankInstance } from '../bank-instance.ts';
import type { Chunk, KernelCall } from '../task.ts';
import { rowWords } from './rows.ts';

/** A row with a valid slot. */
interface SlotRow {
  readonly row: number;
  readonly slot: number;
  /** Whether it is the first row of its sequence. */
  readonly begins: boolean;
}

/** Runs `part` for each row of a chunk in order; rows with an invalid slot are skipped. */
function forSlotRows(
  of: Pick<Placed<GatedDeltaOp>, 'batch' | 'out'> & { readonly state: { readonly rows: number } },
  { bank, capacity }: { readonly bank: BankInstance; readonly capacity: number },
  part: (row: SlotRow, chunk: Chunk) => void,
): KernelCall {
  const { positions, slots } = rowWords(of.batch, bank, capacity);
  return {
    columns: of.out.width,
    run(chunk: Chunk) {
      for (let row = chunk.firstRow; row < chunk.endRow; row++) {
        const slot = slots[row] as number;
        if (slot >= 0 && slot < of.state.rows) part({ row, slot, begins: positions[row] === 0 }, chunk);
      }
    },
  };
}

export function causalConvCall(of: Placed<CausalConvOp>, bank: BankInstance, capacity: number): KernelCall {
  const { x, weight, bias, fn, last, out } = of;
  const { causalConv, unary } = bank.kernels;
  const { width } = out;
  const taps = weight.columns;
  const kept = bank.floats(last.at, last.rows * last.width);
  const code = fn && ACTIVATIONS.indexOf(fn);
  const rows = { ...of, state: last };
  return forSlotRows(rows, { bank, capacity }, ({ row, slot, begins }, { firstColumn, endColumn }) => {
    const start = slot * last.width;
    for (let at = start; begins && at < start + last.width; at += width) {
      kept.fill(0, at + firstColumn, at + endColumn);
    }
    const [from, to] = [x.at + 4 * row * width, out.at + 4 * row * width];
    const before = last.at + 4 * start;
    causalConv(from, weight.at, bias?.at ?? 0, before, to, firstColumn, endColumn, width, taps);
    const first = to + 4 * firstColumn;
    if (code !== undefined) unary(code, first, first, endColumn - firstColumn);
  });
}

/** A chunk consists of heads. */
export function gatedDeltaCall(of: Placed<GatedDeltaOp>, bank: BankInstance, capacity: number): KernelCall {
  const { q, k, v, decay, beta, state, out } = of;
  const { heads, keyHeads, keySize, valueSize, keyOrder, lengthEpsilon, scale } = of;
  const { kernels, scratch } = bank;
  const size = keySize * valueSize;
  const decays = decay.width / heads;
  const matrices = bank.floats(state.at, state.rows * state.width);
  const shares = bank.floats(beta.at, capacity * heads);
  return forSlotRows(of, { bank, capacity }, ({ row, slot, begins }, { firstColumn, endColumn }) => {
    for (let head = firstColumn / valueSize; head < endColumn / valueSize; head++) {
      const first = slot * state.width + head * size;
      if (begins) matrices.fill(0, first, first + size);
      const keyHead = keyOrder === 'tiled' ? head % keyHeads : Math.floor((head * keyHeads) / heads);
      const key = 4 * (row * keyHeads + keyHead) * keySize;
      const value = 4 * (row * heads + head) * valueSize;
      kernels.gatedDelta(
        state.at + 4 * first,
        q.at + key,
        k.at + key,
        v.at + value,
        decay.at + 4 * (row * heads + head) * decays,
        decays,
        shares[row * heads + head] as number,
        out.at + value,
        keySize,
        valueSize,
        lengthEpsilon,
        scale,
        scratch,
      );
    }
  });
}

/** A chunk consists of heads. */
export function selectiveScanCall(
  of: Placed<SelectiveScanOp>,
  bank: BankInstance,
  capacity: number,
): KernelCall {
  const { x, b, c, state, out, heads, headSize, stateSize, groups } = of;
  const { kernels, scratch } = bank;
  const size = headSize * stateSize;
  const matrices = bank.floats(state.at, state.rows * state.width);
  const steps = of.dt && bank.floats(of.dt.at, capacity * heads);
  const skips = of.d && bank.floats(of.d.at, heads);
  return forSlotRows(of, { bank, capacity }, ({ row, slot, begins }, { firstColumn, endColumn }) => {
    for (let head = firstColumn / headSize; head < endColumn / headSize; head++) {
      const first = slot * state.width + head * size;
      if (begins) matrices.fill(0, first, first + size);
      const group = 4 * (row * groups + Math.floor((head * groups) / heads)) * stateSize;
      const value = 4 * (row * heads + head) * headSize;
      kernels.selectiveScan(
        state.at + 4 * first,
        x.at + value,
        steps ? (steps[row * heads + head] as number) : 1,
        b.at + group,
        c.at + group,
        of.a ? of.a.at + 4 * head * of.a.columns : of.decay.at + group,
        of.a?.columns ?? 0,
        skips ? (skips[head] as number) : 0,
        out.at + value,
        headSize,
        stateSize,
        scratch,
      );
    }
  });
}
