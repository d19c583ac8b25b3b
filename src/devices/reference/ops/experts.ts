import {
  type CombineExpertsOp,
  type MatmulExpertsOp,
  type RouteExpertsOp,
  type ScaleExpertsOp,
  readsOwnPart,
  RowRouter,
} from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';
import { dot } from './dot.ts';

export function runRouteExperts(op: RouteExpertsOp, frame: Frame): void {
  const bias = op.bias && frame.vector(op.bias);
  const router = new RowRouter(op, op.logits.width);
  for (let row = 0; row < frame.rowsOf(op.logits); row++) {
    const chosen = op.chosen && frame.matrix(op.chosen).read(row);
    router.route(frame.matrix(op.logits).read(row), { bias, chosen });
    const { expertIds, routingWeights } = router;
    if (op.uses) {
      const counts = frame.matrix(op.uses).read(0);
      for (const id of expertIds) counts[id] = (counts[id] as number) + 1;
      frame.matrix(op.uses).write(0, counts);
    }
    frame.matrix(op.expertIds).write(row, expertIds);
    frame.matrix(op.routingWeights).write(row, routingWeights);
  }
}

export function runMatmulExperts(op: MatmulExpertsOp, frame: Frame): void {
  const { columns } = op.weight;
  const slots = op.hot && frame.matrix(op.hot.slots).read(0);
  for (let row = 0; row < frame.rowsOf(op.x); row++) {
    const x = frame.matrix(op.x).read(row);
    const out = new Float64Array(op.out.width);
    frame
      .matrix(op.expertIds)
      .read(row)
      .forEach((expert, j) => {
        const bias = op.bias && frame.weightRow(op.bias, expert);
        const own = readsOwnPart(op) ? x.subarray(j * columns, (j + 1) * columns) : x;
        const slot = slots?.[expert] ?? -1;
        const [weight, matrix] = op.hot && slot >= 0 ? [op.hot.weight, slot] : [op.weight, expert];
        for (let n = 0; n < op.outputs; n++) {
          const line = matrix * op.outputs + n;
          out[j * op.outputs + n] = dot(own, frame.weightRow(weight, line)) + (bias?.[n] ?? 0);
        }
      });
    frame.matrix(op.out).write(row, out);
  }
}

export function runScaleExperts({ x, expertIds, scales, out }: ScaleExpertsOp, frame: Frame): void {
  const factors = frame.vector(scales);
  const width = x.width / expertIds.width;
  for (let row = 0; row < frame.rowsOf(x); row++) {
    const chosen = frame.matrix(expertIds).read(row);
    const scaled = frame.matrix(x).read(row);
    frame.matrix(out).write(
      row,
      scaled.map((value, i) => value * (factors[chosen[Math.floor(i / width)] as number] ?? 0)),
    );
  }
}

export function runCombineExperts({ x, routingWeights, out }: CombineExpertsOp, frame: Frame): void {
  for (let row = 0; row < frame.rowsOf(x); row++) {
    const parts = frame.matrix(x).read(row);
    const factors = frame.matrix(routingWeights).read(row);
    const sums = new Float64Array(out.width);
    factors.forEach((weight, j) => {
      for (let n = 0; n < out.width; n++) {
        sums[n] = (sums[n] as number) + weight * (parts[j * out.width + n] as number);
      }
    });
    frame.matrix(out).write(row, sums);
  }
}
