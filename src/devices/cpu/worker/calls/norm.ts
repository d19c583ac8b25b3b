import type {
  GaussianTopKOp,
  GroupNormOp,
  HadamardOp,
  L2NormOp,
  LayerNormOp,
  RmsNormOp,
  RopeOp,
} from '../../../../ops/index.ts';
import type { Placed } from '../../protocol/call-table.ts';
import type { BankInstance } from '../bank-instance.ts';
import type { KernelCall, Chunk } from '../task.ts';

export function rmsNormCall(of: Placed<RmsNormOp>, { kernels }: BankInstance): KernelCall {
  const { epsilon, size, weight } = of;
  const [x, out] = [of.x.at, of.out.at];
  const columns = of.out.width;
  const weights = weight?.at ?? 0;
  const step = weight && weight.rows > 1 ? 4 : 0;
  const { rmsNorm } = kernels;
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        for (let i = firstColumn; i < endColumn; i += size) {
          const start = 4 * (row * columns + i);
          rmsNorm(x + start, weights + step * i, out + start, size, epsilon);
        }
      }
    },
  };
}

export function layerNormCall(of: Placed<LayerNormOp>, { kernels }: BankInstance): KernelCall {
  const { epsilon, weight } = of;
  const [x, out, bias] = [of.x.at, of.out.at, of.bias?.at ?? 0];
  const columns = of.out.width;
  const { layerNorm } = kernels;
  return {
    columns,
    run({ firstRow, endRow }: Chunk) {
      for (let i = firstRow * columns; i < endRow * columns; i += columns) {
        layerNorm(x + 4 * i, weight.at, bias, out + 4 * i, columns, epsilon);
      }
    },
  };
}

export function groupNormCall(of: Placed<GroupNormOp>, { kernels }: BankInstance): KernelCall {
  const { epsilon, size, weight, bias } = of;
  const [x, out] = [of.x.at, of.out.at];
  const columns = of.out.width;
  const { layerNorm } = kernels;
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        for (let i = firstColumn; i < endColumn; i += size) {
          const start = 4 * (row * columns + i);
          layerNorm(x + start, weight.at + 4 * i, bias.at + 4 * i, out + start, size, epsilon);
        }
      }
    },
  };
}

export function l2NormCall(of: Placed<L2NormOp>, bank: BankInstance, capacity: number): KernelCall {
  const { size, epsilon, by } = of;
  const columns = of.out.width;
  const [x, out] = [of.x, of.out].map(({ at }) => bank.floats(at, capacity * columns)) as [
    Float32Array,
    Float32Array,
  ];
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        for (let i = row * columns + firstColumn; i < row * columns + endColumn; i += size) {
          let square = 0;
          for (let j = i; j < i + size; j++) square += (x[j] as number) ** 2;
          const length =
            by === 'rms' ? Math.sqrt(square / size + epsilon) : Math.max(epsilon, Math.sqrt(square));
          const factor = 1 / length;
          for (let j = i; j < i + size; j++) out[j] = (x[j] as number) * factor;
        }
      }
    },
  };
}

export function gaussianTopKCall(
  of: Placed<GaussianTopKOp>,
  bank: BankInstance,
  capacity: number,
): KernelCall {
  const columns = of.out.width;
  const x = bank.floats(of.x.at, capacity * columns);
  const out = bank.floats(of.out.at, capacity * columns);
  return {
    columns,
    run({ firstRow, endRow }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const [start, end] = [row * columns, (row + 1) * columns];
        let sum = 0;
        for (let i = start; i < end; i++) sum += x[i] as number;
        const mean = sum / columns;
        let square = 0;
        for (let i = start; i < end; i++) square += ((x[i] as number) - mean) ** 2;
        const threshold = mean + of.deviations * Math.sqrt(square / (columns - 1));
        for (let i = start; i < end; i++) out[i] = Math.max((x[i] as number) - threshold, 0);
      }
    },
  };
}

/** A butterfly: sums and differences of values that are 1, 2, 4 ... apart. */
export function hadamardCall(of: Placed<HadamardOp>, bank: BankInstance, capacity: number): KernelCall {
  const { size } = of;
  const columns = of.out.width;
  const x = bank.floats(of.x.at, capacity * columns);
  const out = bank.floats(of.out.at, capacity * columns);
  const scale = 1 / Math.sqrt(size);
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        for (let at = row * columns + firstColumn; at < row * columns + endColumn; at += size) {
          for (let i = at; i < at + size; i++) out[i] = (x[i] as number) * scale;
          for (let apart = 1; apart < size; apart *= 2) addPairs(out.subarray(at, at + size), apart);
        }
      }
    },
  };
}

/** Replaces the values of each pair that is `apart` by their sum and their difference. */
function addPairs(values: Float32Array, apart: number): void {
  for (let start = 0; start < values.length; start += 2 * apart) {
    for (let i = start; i < start + apart; i++) {
      const [a, b] = [values[i] as number, values[i + apart] as number];
      values[i] = a + b;
      values[i + apart] = a - b;
    }
  }
}

export function ropeCall(of: Placed<RopeOp>, { kernels }: BankInstance): KernelCall {
  const { headSize, pairs, table } = of;
  const [x, out] = [of.x.at, of.out.at];
  const [columns, rotated] = [of.out.width, table.width];
  const { rope } = kernels;
  const halves = pairs === 'neox' ? 1 : 0;
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      const heads = (endColumn - firstColumn) / headSize;
      for (let row = firstRow; row < endRow; row++) {
        const i = 4 * (row * columns + firstColumn);
        rope(x + i, table.at + 4 * row * rotated, out + i, heads, headSize, rotated, halves);
      }
    },
  };
}
