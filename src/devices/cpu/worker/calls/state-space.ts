import { invariant } from '../../../../base/errors.ts';
import {
  ACTIVATIONS,
  type CausalConvOp,
  type GatedDeltaOp,
  type SelectiveScanOp,
} from '../../../../ops/index.ts';
import type { Placed } from '../../protocol/call-table.ts';
import { KERNEL_SCRATCH_BYTES } from '../../protocol/reserved.ts';
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

/** Computes a row, or several of a sequence that begin with it. */
type RowPart = (row: SlotRow, chunk: Chunk) => void;

/** Rows that are computed at once, where so many of a sequence stand together. */
interface RowsTogether {
  readonly rows: number;
  readonly part: RowPart;
}

/**
 * Runs `part` for each row of a chunk in order; rows with an invalid slot are skipped. Rows are taken together from multiples of
 * their number on, so that it does not matter how many rows of others stand before them.
 */
function forSlotRows(
  of: Pick<Placed<GatedDeltaOp>, 'batch' | 'out'> & { readonly state: { readonly rows: number } },
  {
    bank,
    capacity,
    together,
  }: { readonly bank: BankInstance; readonly capacity: number; readonly together?: RowsTogether | undefined },
  part: RowPart,
): KernelCall {
  const { positions, slots } = rowWords(of.batch, bank, capacity);
  const standTogether = (row: number, count: number): boolean => {
    const first = positions[row] as number;
    if (first % count !== 0) return false;
    let i = 1;
    while (i < count && slots[row + i] === slots[row] && positions[row + i] === first + i) i++;
    return i === count;
  };
  return {
    columns: of.out.width,
    run(chunk: Chunk) {
      for (let row = chunk.firstRow; row < chunk.endRow; row++) {
        const slot = slots[row] as number;
        if (slot < 0 || slot >= of.state.rows) continue;
        const from = { row, slot, begins: positions[row] === 0 };
        const all = together && row + together.rows <= chunk.endRow && standTogether(row, together.rows);
        if (all) together.part(from, chunk);
        else part(from, chunk);
        if (all) row += together.rows - 1;
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
  const step: RowPart = ({ row, slot, begins }, { firstColumn, endColumn }) => {
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
  };
  const together = hasScanChunks(of) ? { rows: SCAN_ROWS, part: scanRows(of, bank) } : undefined;
  return forSlotRows(of, { bank, capacity, together }, step);
}

/** Rows of a sequence that Mamba-2's recurrence takes at once: more than drafts have, which are then computed as single tokens are. */
const SCAN_ROWS = 32;
/** What the sizes of heads and states are then a multiple of. */
const SCAN_UNIT = 16;
/** Bytes of scratch for what rows see of each other. */
const SCAN_PAIRS = 4 * SCAN_ROWS * SCAN_ROWS;

/** Whether a recurrence takes rows together: Mamba-2's, as far as a head fits into scratch. */
function hasScanChunks({ a, headSize, stateSize }: Placed<SelectiveScanOp>): boolean {
  const fits = SCAN_PAIRS + 4 * SCAN_ROWS * (SCAN_ROWS + headSize + 2) <= KERNEL_SCRATCH_BYTES;
  return a?.columns === 1 && headSize % SCAN_UNIT === 0 && stateSize % SCAN_UNIT === 0 && fits;
}

/** Mamba-2's recurrence over `SCAN_ROWS` rows as products of matrices. */
function scanRows(of: Placed<SelectiveScanOp>, bank: BankInstance): RowPart {
  const { x, b, c, dt, a, d, state, out, heads, headSize, stateSize, groups } = of;
  invariant(dt, 'rows taken together have time steps');
  const { kernels, scratch } = bank;
  const size = headSize * stateSize;
  const matrices = bank.floats(state.at, state.rows * state.width);
  const [rates, skips] = [bank.floats(a.at, heads), bank.floats(d.at, heads)];
  const nextInputs = 4 * groups * stateSize;
  return ({ row, slot, begins }, { firstColumn, endColumn }) => {
    let paired = -1;
    for (let head = firstColumn / headSize; head < endColumn / headSize; head++) {
      const first = slot * state.width + head * size;
      if (begins) matrices.fill(0, first, first + size);
      const group = Math.floor((head * groups) / heads);
      const inputs = row * nextInputs + 4 * group * stateSize;
      if (group !== paired)
        kernels.scanPairs(b.at + inputs, c.at + inputs, nextInputs, stateSize, SCAN_ROWS, scratch);
      paired = group;
      const value = 4 * (row * heads + head) * headSize;
      kernels.scanChunk(
        state.at + 4 * first,
        x.at + value,
        out.at + value,
        4 * heads * headSize,
        dt.at + 4 * (row * heads + head),
        4 * heads,
        b.at + inputs,
        c.at + inputs,
        nextInputs,
        rates[head] as number,
        skips[head] as number,
        headSize,
        stateSize,
        SCAN_ROWS,
        scratch,
        scratch + SCAN_PAIRS,
      );
    }
  };
}
