import type { MatMatKernel, MatVecKernel } from '../../kernel-exports.ts';
import type { MatmulCall, QuantizeCall } from '../../protocol/call-table.ts';
import { recordBytes, TILE_ROWS } from '../../weight-layouts.ts';
import type { BankInstance } from '../bank-instance.ts';
import type { Call, Chunk } from '../task.ts';

/** One row stands alone, more stand in tiles. */
function lanesOf(rows: number): number {
  return rows === 1 ? 1 : TILE_ROWS;
}

/** Bytes of one row of activations in 8 bits. */
function recordRowBytes(columns: number): number {
  return recordBytes(1, columns);
}

export function quantizeCall({ at, columns }: QuantizeCall, bank: BankInstance): Call {
  const { quantize } = bank.kernels;
  const rowBytes = recordRowBytes(columns);
  const groupBytes = recordRowBytes(1);
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn, rows }: Chunk) {
      const lanes = lanesOf(rows);
      const group = (firstColumn / 32) * groupBytes * lanes;
      for (let row = firstRow; row < endRow; row++) {
        const lane = row % lanes;
        const x = at.x + 4 * (row * columns + firstColumn);
        quantize(
          x,
          at.out + (row - lane) * rowBytes + group,
          endColumn - firstColumn,
          lanes,
          lane,
          bank.scratch,
        );
      }
    },
  };
}

export function matmulCall(of: MatmulCall, bank: BankInstance): Call {
  const { at, columns, inner } = of;
  const matVec = bank.kernel<MatVecKernel>(of.matVec);
  const matMat = bank.kernel<MatMatKernel>(of.matMat);
  return {
    columns,
    run({ firstColumn, endColumn, rows }: Chunk) {
      if (rows === 1) matVec(at.weight, at.x, at.out, firstColumn, endColumn, inner, 1, bank.scratch);
      else matMat(at.weight, at.x, at.out, firstColumn, endColumn, inner, rows, columns, bank.scratch);
    },
  };
}
