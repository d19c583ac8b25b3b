import type { LayerNormCall, RmsNormCall, RopeCall } from '../../protocol/call-table.ts';
import type { BankInstance } from '../bank-instance.ts';
import type { Call, Chunk } from '../task.ts';

export function rmsNormCall(of: RmsNormCall, { kernels }: BankInstance): Call {
  const { at, columns, group, epsilon } = of;
  const { rmsNorm } = kernels;
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const end = row * columns + endColumn;
        for (let i = row * columns + firstColumn; i < end; i += group) {
          rmsNorm(at.x + 4 * i, at.weight, at.out + 4 * i, group, epsilon);
        }
      }
    },
  };
}

export function layerNormCall(of: LayerNormCall, { kernels }: BankInstance): Call {
  const { at, columns, epsilon } = of;
  const { layerNorm } = kernels;
  const bias = at.bias ?? 0;
  return {
    columns,
    run({ firstRow, endRow }: Chunk) {
      for (let i = firstRow * columns; i < endRow * columns; i += columns) {
        layerNorm(at.x + 4 * i, at.weight, bias, at.out + 4 * i, columns, epsilon);
      }
    },
  };
}

export function ropeCall(of: RopeCall, { kernels }: BankInstance): Call {
  const { at, columns, headSize, turned, pairs } = of;
  const { rope } = kernels;
  const halves = pairs === 'halves' ? 1 : 0;
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      const heads = (endColumn - firstColumn) / headSize;
      for (let row = firstRow; row < endRow; row++) {
        const i = 4 * (row * columns + firstColumn);
        rope(at.x + i, at.table + 4 * row * turned, at.out + i, heads, headSize, turned, halves);
      }
    },
  };
}
