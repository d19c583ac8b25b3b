import {
  type CombineExpertsOp,
  type MatmulExpertsOp,
  type MatmulHeadsOp,
  type RouteExpertsOp,
  routeRow,
  type ScaleExpertsOp,
} from '../../../../ops/index.ts';
import type { MatVecKernel } from '../../kernel-exports.ts';
import type { Placed } from '../../protocol/call-table.ts';
import { RECORD_BYTES, recordBytes } from '../../weight-layouts.ts';
import type { BankInstance } from '../bank-instance.ts';
import type { KernelCall, Chunk } from '../task.ts';
import { lanesOf, layoutOf } from './matmul.ts';

export function routeExpertsCall(
  of: Placed<RouteExpertsOp>,
  bank: BankInstance,
  capacity: number,
): KernelCall {
  const { topK } = of;
  const columns = of.logits.width;
  const x = bank.floats(of.logits.at, capacity * columns);
  const bias = of.bias && bank.floats(of.bias.at, columns);
  const given = of.chosen && bank.floats(of.chosen.at, capacity * topK);
  const experts = bank.words(of.expertIds.at, capacity * topK);
  const routingWeights = bank.floats(of.routingWeights.at, capacity * topK);
  return {
    columns,
    run({ firstRow, endRow }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const chosen = given?.subarray(row * topK, (row + 1) * topK);
        const routed = routeRow(x.subarray(row * columns, (row + 1) * columns), { bias, chosen }, of);
        experts.set(routed.expertIds, row * topK);
        routingWeights.set(routed.routingWeights, row * topK);
      }
    },
  };
}

export function matmulExpertsCall(
  of: Placed<MatmulExpertsOp>,
  bank: BankInstance,
  capacity: number,
): KernelCall {
  const chosen = of.out.width / of.outputs;
  const experts = bank.words(of.expertIds.at, capacity * chosen);
  return matricesCall(of, {
    bank,
    capacity,
    matrixOf: (row, choice) => experts[row * chosen + choice] as number,
  });
}

/** Each part of a row uses the matrix of its own index. */
export function matmulHeadsCall(of: Placed<MatmulHeadsOp>, bank: BankInstance, capacity: number): KernelCall {
  return matricesCall(of, { bank, capacity, matrixOf: (_, head) => head });
}

/**
 * Computes the parts of the result one by one, with the matrix given by `matrixOf`; products with nonexistent matrices
 * are zero.
 */
function matricesCall(
  of: Placed<MatmulExpertsOp> | Placed<MatmulHeadsOp>,
  {
    bank,
    capacity,
    matrixOf,
  }: { bank: BankInstance; capacity: number; matrixOf: (row: number, part: number) => number },
): KernelCall {
  const { outputs, weight, x } = of;
  const bias = of.kind === 'matmulExperts' ? of.bias : undefined;
  const { columns: inner } = weight;
  const [columns, parts, matrices] = [of.out.width, x.width / inner, weight.rows / outputs];
  const layout = layoutOf(weight);
  const matVec = bank.kernel<MatVecKernel>(layout.matVec);
  const out = bank.floats(of.out.at, capacity * columns);
  const inRecords = layout.activations === 'records';
  const rowBytes = inRecords ? recordBytes(1, x.width) : 4 * x.width;
  /** The start of a row's own part: records of neighbouring rows are interleaved. */
  const partAt = (row: number, part: number, lanes: number): number => {
    if (!inRecords) return x.at + row * rowBytes + part * 4 * inner;
    const lane = row % lanes;
    return x.at + (row - lane) * rowBytes + (lane + (part * lanes * inner) / 32) * RECORD_BYTES;
  };
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn, rows }: Chunk) {
      const lanes = lanesOf(rows);
      for (let row = firstRow; row < endRow; row++) {
        for (let column = firstColumn; column < endColumn;) {
          const choice = Math.floor(column / outputs);
          const end = Math.min(endColumn, (choice + 1) * outputs);
          const matrix = matrixOf(row, choice);
          const from = row * columns + column;
          if (matrix >= 0 && matrix < matrices) {
            const begin = matrix * outputs + (column % outputs);
            // The kernel adds the weight's row to the output's address; addresses wrap around.
            const y = of.out.at + 4 * (from - begin);
            const part = partAt(row, parts > 1 ? choice : 0, lanes);
            matVec(weight.at, part, y, begin, begin + end - column, inner, lanes, bank.scratch);
            const to = of.out.at + 4 * from;
            if (bias) bank.kernels.add(to, bias.at + 4 * begin, to, end - column);
          } else out.fill(0, from, from + end - column);
          column = end;
        }
      }
    },
  };
}

export function scaleExpertsCall(
  of: Placed<ScaleExpertsOp>,
  bank: BankInstance,
  capacity: number,
): KernelCall {
  const columns = of.out.width;
  const chosen = of.expertIds.width;
  const x = bank.floats(of.x.at, capacity * columns);
  const experts = bank.words(of.expertIds.at, capacity * chosen);
  const scales = bank.floats(of.scales.at, of.scales.columns);
  const out = bank.floats(of.out.at, capacity * columns);
  const width = columns / chosen;
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        for (let i = firstColumn; i < endColumn; i++) {
          const expert = experts[row * chosen + Math.floor(i / width)] as number;
          out[row * columns + i] = (x[row * columns + i] as number) * (scales[expert] ?? 0);
        }
      }
    },
  };
}

export function combineExpertsCall(
  of: Placed<CombineExpertsOp>,
  bank: BankInstance,
  capacity: number,
): KernelCall {
  const columns = of.out.width;
  const chosen = of.routingWeights.width;
  const x = bank.floats(of.x.at, capacity * columns * chosen);
  const routingWeights = bank.floats(of.routingWeights.at, capacity * chosen);
  const out = bank.floats(of.out.at, capacity * columns);
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        for (let i = firstColumn; i < endColumn; i++) {
          let sum = 0;
          for (let j = 0; j < chosen; j++) {
            const part = x[(row * chosen + j) * columns + i] as number;
            sum += (routingWeights[row * chosen + j] as number) * part;
          }
          out[row * columns + i] = sum;
        }
      }
    },
  };
}
