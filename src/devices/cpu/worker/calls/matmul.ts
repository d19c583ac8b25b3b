import type { KernelExports } from '../../kernel-exports.ts';
import type { MatmulOp } from '../../../../ops/index.ts';
import type { Placed, QuantizeOp } from '../../protocol/call-table.ts';
import { MATMUL_BLOCK_ROWS } from '../../protocol/reserved.ts';
import { recordBytes, TILE_ROWS, type WeightLayout } from '../../weight-layouts.ts';
import type { BankInstance } from '../bank-instance.ts';
import type { CallPlace, Chunk, KernelCall } from '../task.ts';
import { layoutOf } from './layout-of.ts';
import { productKernels } from './product-kernels.ts';

/** A single row is not interleaved; several rows form tiles. */
export function lanesOf(rows: number): number {
  return rows === 1 ? 1 : TILE_ROWS;
}

/** Bytes of one row of activations in 8 bits. */
function recordRowBytes(columns: number): number {
  return recordBytes(1, columns);
}

export function quantizeCall(of: Placed<QuantizeOp>, bank: BankInstance): KernelCall {
  const { span, out } = of;
  const columns = of.x.width;
  const quantize = bank.kernel<KernelExports['quantize']>('quantize');
  const rowBytes = recordRowBytes(columns);
  const groupBytes = recordRowBytes(1);
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn, rows }: Chunk) {
      const lanes = lanesOf(rows);
      const lane = firstRow % lanes;
      const x = of.x.at + 4 * (firstRow * columns + firstColumn);
      const to = out.at + (firstRow - lane) * rowBytes + (firstColumn / 32) * groupBytes * lanes;
      const count = endColumn - firstColumn;
      quantize(x, to, count, columns, endRow - firstRow, lanes, lane, bank.scratch, span);
    },
  };
}

/** Bytes of activations that stay in a core's private cache while a chunk of weights passes over them. */
const BLOCK_BYTES = 384 * 1024;

/**
 * Rows of activations in such a block: whole tiles, and enough of them that unpacking the weights for each block costs
 * little. Native kernels of quantized weights take any number: they pass over some columns of all rows before the next ones.
 */
function blockRows({ matMat, activations }: WeightLayout, rowBytes: number, bank: BankInstance): number {
  if (activations === 'records' && bank.isNative(matMat)) return MATMUL_BLOCK_ROWS;
  const rows = Math.floor(BLOCK_BYTES / rowBytes / TILE_ROWS) * TILE_ROWS;
  return Math.min(MATMUL_BLOCK_ROWS, Math.max(32, rows));
}

export function matmulCall(
  { x, weight, out }: Placed<MatmulOp>,
  bank: BankInstance,
  _: number,
  place: CallPlace,
): KernelCall {
  const { rows: columns, columns: inner } = weight;
  const layout = layoutOf(weight, bank);
  const kernels = productKernels(weight, place);
  const rowBytes = layout.activations === 'records' ? recordRowBytes(inner) : 4 * inner;
  const block = blockRows(layout, rowBytes, bank);
  return {
    columns,
    run({ firstColumn, endColumn, rows }: Chunk) {
      if (rows === 1) {
        kernels.matVec(x.at, out.at, firstColumn, endColumn, 1);
        return;
      }
      for (let row = 0; row < rows; row += block) {
        const from = x.at + row * rowBytes;
        const to = out.at + 4 * row * columns;
        const count = Math.min(block, rows - row);
        kernels.matMat(from, to, firstColumn, endColumn, count, columns);
      }
    },
  };
}
