import {
  type CombineExpertsOp,
  type RouteExpertsOp,
  RowRouter,
  type ScaleExpertsOp,
} from '../../../../ops/index.ts';
import type { Placed } from '../../protocol/call-table.ts';
import type { BankInstance } from '../bank-instance.ts';
import type { KernelCall, Chunk } from '../task.ts';

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
  const router = new RowRouter(of, columns);
  return {
    columns,
    run({ firstRow, endRow }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const chosen = given?.subarray(row * topK, (row + 1) * topK);
        router.route(x.subarray(row * columns, (row + 1) * columns), { bias, chosen });
        experts.set(router.expertIds, row * topK);
        routingWeights.set(router.routingWeights, row * topK);
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
  { x, routingWeights, out }: Placed<CombineExpertsOp>,
  { kernels }: BankInstance,
): KernelCall {
  const columns = out.width;
  const chosen = routingWeights.width;
  const { weightedSum } = kernels;
  return {
    columns,
    run({ firstRow, endRow }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const factors = routingWeights.at + 4 * row * chosen;
        weightedSum(x.at + 4 * row * chosen * columns, factors, out.at + 4 * row * columns, columns, chosen);
      }
    },
  };
}
