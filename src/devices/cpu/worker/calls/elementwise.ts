import { ACTIVATIONS } from '../../../../ops/index.ts';
import type { BinaryCall, GatedCall, ScaleCall, UnaryCall } from '../../protocol/call-table.ts';
import type { BankInstance } from '../bank-instance.ts';
import type { KernelCall, Chunk } from '../task.ts';

/** A kernel for `count` values that lie `at` elements behind the operands' starts, in row `row`. */
type Part = (at: number, count: number, row: number) => void;

/** Runs a part for each row of a chunk, or once where the chunk's rows lie one behind the other. */
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

/** The same for operators to which a row's place does not matter. */
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

export function binaryCall({ kind, at, columns, b }: BinaryCall, bank: BankInstance): KernelCall {
  const { kernels } = bank;
  const kernel = kernels[kind];
  if (b === 'rows') {
    return forValues(columns, (i, n) => kernel(at.a + 4 * i, at.b + 4 * i, at.out + 4 * i, n));
  }
  if (b === 'row') {
    return forParts(columns, (i, n, row) => {
      kernel(at.a + 4 * i, at.b + 4 * (i - row * columns), at.out + 4 * i, n);
    });
  }
  const value = bank.floats(at.b, 1);
  const single = kind === 'add' ? kernels.shift : kernels.scale;
  return forValues(columns, (i, n) => single(at.a + 4 * i, value[0] as number, at.out + 4 * i, n));
}

export function scaleCall({ at, columns, factor }: ScaleCall, { kernels }: BankInstance): KernelCall {
  const { scale } = kernels;
  return forValues(columns, (i, n) => scale(at.x + 4 * i, factor, at.out + 4 * i, n));
}

export function unaryCall({ at, columns, fn }: UnaryCall, { kernels }: BankInstance): KernelCall {
  const { unary } = kernels;
  const code = ACTIVATIONS.indexOf(fn);
  return forValues(columns, (i, n) => unary(code, at.x + 4 * i, at.out + 4 * i, n));
}

export function gatedCall({ at, columns, fn }: GatedCall, { kernels }: BankInstance): KernelCall {
  const { gated } = kernels;
  const code = ACTIVATIONS.indexOf(fn);
  return forValues(columns, (i, n) => gated(code, at.gate + 4 * i, at.up + 4 * i, at.out + 4 * i, n));
}
