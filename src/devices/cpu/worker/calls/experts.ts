import { routeRow } from '../../../../ops/index.ts';
import type { MatVecKernel } from '../../kernel-exports.ts';
import type {
  CombineExpertsCall,
  MatmulExpertsCall,
  RouteExpertsCall,
  ScaleExpertsCall,
} from '../../protocol/call-table.ts';
import { RECORD_BYTES, recordBytes } from '../../weight-layouts.ts';
import type { BankInstance } from '../bank-instance.ts';
import type { KernelCall, Chunk } from '../task.ts';
import { lanesOf } from './matmul.ts';

export function routeExpertsCall(of: RouteExpertsCall, bank: BankInstance, capacity: number): KernelCall {
  const { at, columns, rule } = of;
  const x = bank.floats(at.x, capacity * columns);
  const bias = at.bias === undefined ? undefined : bank.floats(at.bias, columns);
  const experts = bank.words(at.experts, capacity * rule.topK);
  const routingWeights = bank.floats(at.routingWeights, capacity * rule.topK);
  return {
    columns,
    run({ firstRow, endRow }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const routed = routeRow(x.subarray(row * columns, (row + 1) * columns), bias, rule);
        experts.set(routed.expertIds, row * rule.topK);
        routingWeights.set(routed.routingWeights, row * rule.topK);
      }
    },
  };
}

/** A choice after the other; the products of experts that there are not are zeros. */
export function matmulExpertsCall(of: MatmulExpertsCall, bank: BankInstance, capacity: number): KernelCall {
  const { at, columns, outputs, inner, parts, expertCount } = of;
  const matVec = bank.kernel<MatVecKernel>(of.matVec);
  const chosen = columns / outputs;
  const experts = bank.words(at.experts, capacity * chosen);
  const out = bank.floats(at.out, capacity * columns);
  const inRecords = of.activations === 'records';
  const rowBytes = inRecords ? recordBytes(1, inner * parts) : 4 * inner * parts;
  /** Where a row's own part begins: records of neighbouring rows stand side by side. */
  const partAt = (row: number, part: number, lanes: number): number => {
    if (!inRecords) return at.x + row * rowBytes + part * 4 * inner;
    const lane = row % lanes;
    return at.x + (row - lane) * rowBytes + (lane + (part * lanes * inner) / 32) * RECORD_BYTES;
  };
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn, rows }: Chunk) {
      const lanes = lanesOf(rows);
      for (let row = firstRow; row < endRow; row++) {
        for (let column = firstColumn; column < endColumn;) {
          const choice = Math.floor(column / outputs);
          const end = Math.min(endColumn, (choice + 1) * outputs);
          const expert = experts[row * chosen + choice] as number;
          const from = row * columns + column;
          if (expert >= 0 && expert < expertCount) {
            const begin = expert * outputs + (column % outputs);
            // The kernel adds the weight's row to the output's address: addresses wrap around.
            const y = at.out + 4 * (from - begin);
            const x = partAt(row, parts > 1 ? choice : 0, lanes);
            matVec(at.weight, x, y, begin, begin + end - column, inner, lanes, bank.scratch);
          } else out.fill(0, from, from + end - column);
          column = end;
        }
      }
    },
  };
}

export function scaleExpertsCall(of: ScaleExpertsCall, bank: BankInstance, capacity: number): KernelCall {
  const { at, columns, chosen, expertCount } = of;
  const x = bank.floats(at.x, capacity * columns);
  const experts = bank.words(at.experts, capacity * chosen);
  const scales = bank.floats(at.scales, expertCount);
  const out = bank.floats(at.out, capacity * columns);
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

export function combineExpertsCall(of: CombineExpertsCall, bank: BankInstance, capacity: number): KernelCall {
  const { at, columns, chosen } = of;
  const x = bank.floats(at.x, capacity * columns * chosen);
  const routingWeights = bank.floats(at.routingWeights, capacity * chosen);
  const out = bank.floats(at.out, capacity * columns);
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
