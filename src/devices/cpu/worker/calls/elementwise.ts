import {
  ACTIVATIONS,
  type BinaryOp,
  type ClampOp,
  GATED_FUNCTIONS,
  type GatedOp,
  type ScaleOp,
  type UnaryOp,
} from '../../../../ops/index.ts';
import type { KernelExports } from '../../kernel-exports.ts';
import type { Placed } from '../../protocol/call-table.ts';
import type { BankInstance } from '../bank-instance.ts';
import type { KernelCall, Chunk } from '../task.ts';

/** A kernel for `count` values at offset `at` in the operands, in row `row`. */
type Part = (at: number, count: number, row: number) => void;

/** Runs a part for each row of a chunk, or once if the chunk's rows are contiguous. */
function forParts(columns: number, part: Part): KernelCall {
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        part(row * columns + firstColumn, endColumn - firstColumn, row);
      }
    },
  };
}

/** The same for operators that do not depend on the row. */
function forValues(columns: number, part: (at: number, count: number) => void): KernelCall {
  const rows = forParts(columns, part);
  return {
    columns,
    run(chunk: Chunk) {
      const { firstRow, endRow, firstColumn, endColumn } = chunk;
      if (endColumn - firstColumn === columns) part(firstRow * columns, (endRow - firstRow) * columns);
      else rows.run(chunk);
    },
  };
}

/** `b` is one row per row, one row for all, or one value; in both kinds of rows, a value may be that of a part of a row. */
export function binaryCall(of: Placed<BinaryOp>, bank: BankInstance): KernelCall {
  const { kernels } = bank;
  const kernel = kernels[of.kind];
  const [a, b, out] = [of.a.at, of.b.at, of.out.at];
  const columns = of.out.width;
  const isTensor = of.b.kind === 'tensor';
  const width = of.b.kind === 'tensor' ? of.b.width : of.b.columns;
  if (width !== columns && (isTensor || width > 1)) return partsCall(of, width, bank);
  if (isTensor) return forValues(columns, (i, n) => kernel(a + 4 * i, b + 4 * i, out + 4 * i, n));
  if (width === columns) {
    return forParts(columns, (i, n, row) => kernel(a + 4 * i, b + 4 * (i - row * columns), out + 4 * i, n));
  }
  const value = bank.floats(b, 1);
  const single = of.kind === 'add' ? kernels.shift : kernels.scale;
  return forValues(columns, (i, n) => single(a + 4 * i, value[0] as number, out + 4 * i, n));
}

/** Multiplies each of a row's `parts` by its value, which a weight has for all rows. */
function partsCall({ a, b, out }: Placed<BinaryOp>, parts: number, bank: BankInstance): KernelCall {
  const { kernels } = bank;
  const size = out.width / parts;
  return forParts(out.width, (i, n, row) => {
    const factors = bank.floats(b.at + (b.kind === 'tensor' ? 4 * row * parts : 0), parts);
    for (let done = 0; done < n; done += size) {
      const at = 4 * (i + done);
      kernels.scale(a.at + at, factors[done / size] as number, out.at + at, size);
    }
  });
}

export function clampCall({ x, low, high, out }: Placed<ClampOp>, { kernels }: BankInstance): KernelCall {
  const { clamp } = kernels;
  return forValues(out.width, (i, n) => clamp(x.at + 4 * i, low, high, out.at + 4 * i, n));
}

export function scaleCall({ x, factor, out }: Placed<ScaleOp>, { kernels }: BankInstance): KernelCall {
  const { scale } = kernels;
  return forValues(out.width, (i, n) => scale(x.at + 4 * i, factor, out.at + 4 * i, n));
}

export function unaryCall({ x, fn, out }: Placed<UnaryOp>, { kernels }: BankInstance): KernelCall {
  const { unary } = kernels;
  const code = ACTIVATIONS.indexOf(fn);
  return forValues(out.width, (i, n) => unary(code, x.at + 4 * i, out.at + 4 * i, n));
}

export function gatedCall({ gate, up, fn, out }: Placed<GatedOp>, bank: BankInstance): KernelCall {
  const gated = bank.kernel<KernelExports['gated']>('gated');
  const code = GATED_FUNCTIONS.indexOf(fn);
  const columns = out.width;
  return {
    columns,
    // All rows at once: a native kernel's call costs as much as some hundred values.
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      const at = 4 * (firstRow * columns + firstColumn);
      const count = endColumn - firstColumn;
      gated(code, gate.at + at, up.at + at, out.at + at, count, endRow - firstRow, columns);
    },
  };
}
