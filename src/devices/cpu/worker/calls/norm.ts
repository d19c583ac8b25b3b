import type {
  GroupNormCall,
  L2NormCall,
  LayerNormCall,
  RmsNormCall,
  RopeCall,
} from '../../protocol/call-table.ts';
import type { BankInstance } from '../bank-instance.ts';
import type { KernelCall, Chunk } from '../task.ts';

export function rmsNormCall(of: RmsNormCall, { kernels }: BankInstance): KernelCall {
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

export function layerNormCall(of: LayerNormCall, { kernels }: BankInstance): KernelCall {
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

export function groupNormCall(of: GroupNormCall, { kernels }: BankInstance): KernelCall {
  const { at, columns, group, epsilon } = of;
  const { layerNorm } = kernels;
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        for (let i = firstColumn; i < endColumn; i += group) {
          const start = 4 * (row * columns + i);
          layerNorm(at.x + start, at.weight + 4 * i, at.bias + 4 * i, at.out + start, group, epsilon);
        }
      }
    },
  };
}

export function l2NormCall(of: L2NormCall, bank: BankInstance, capacity: number): KernelCall {
  const { at, columns, group, epsilon } = of;
  const [x, out] = [bank.floats(at.x, capacity * columns), bank.floats(at.out, capacity * columns)];
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        for (let i = row * columns + firstColumn; i < row * columns + endColumn; i += group) {
          let square = 0;
          for (let j = i; j < i + group; j++) square += (x[j] as number) ** 2;
          const factor = 1 / Math.max(epsilon, Math.sqrt(square));
          for (let j = i; j < i + group; j++) out[j] = (x[j] as number) * factor;
        }
      }
    },
  };
}

export function ropeCall(of: RopeCall, { kernels }: BankInstance): KernelCall {
  const { at, columns, headSize, turned, pairs } = of;
  const { rope } = kernels;
  const halves = pairs === 'neox' ? 1 : 0;
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
