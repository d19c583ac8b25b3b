import type { RopeOp, RopeTableOp } from '../../../ops/index.ts';
import { ropeConstants } from '../../../ops/index.ts';
import { float, int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

const TABLE_THREADS = 64;
const THREADS = 256;

export function lowerRopeTable({ positions, factors, parameters, out }: RopeTableOp, to: Lowering): void {
  const pairs = parameters.dimensions / 2;
  const { thetaScale, freqScale, sineScale, rampLow, rampHigh, extrapolation } = ropeConstants(parameters);
  to.launch({
    file: 'rope.hip',
    kernel: 'rope_table',
    grid: [to.capacity(out), Math.ceil(pairs / TABLE_THREADS)],
    block: TABLE_THREADS,
    args: [
      to.count(out),
      positions,
      factors ? to.weight([factors], FLOAT_LAYOUT) : NULL,
      out,
      int(pairs),
      float(thetaScale),
      float(freqScale),
      float(sineScale),
      float(rampLow),
      float(rampHigh),
      float(extrapolation),
    ],
  });
}

export function lowerRope({ x, table, headSize, pairs, out }: RopeOp, to: Lowering): void {
  to.launch({
    file: 'rope.hip',
    kernel: 'rope_rows',
    grid: [Math.ceil((to.capacity(out) * out.width) / THREADS)],
    block: THREADS,
    args: [
      to.count(out),
      x,
      table,
      out,
      int(out.width),
      int(headSize),
      int(table.width),
      int(pairs === 'interleaved' ? 1 : 0),
    ],
  });
}
