import { extrapolationRamp, type RopeOp, type RopeTableOp, ropeConstants } from '../../../ops/index.ts';
import { PRECISE } from '../kernels/library/precise.ts';
import {
  FACTORED_ANGLE,
  FREE_ANGLE,
  PLAIN_TURN,
  ROPE,
  ROPE_TABLE,
  TURN,
  yarnTurnText,
} from '../kernels/rope.ts';
import { launchElementwise } from './elementwise.ts';
import { read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

const TABLE_THREADS = 64;

export function lowerRopeTable({ positions, factors, parameters, out }: RopeTableOp, to: Lowering): void {
  const pairs = parameters.dimensions / 2;
  const constants = ropeConstants(parameters);
  const { ratio, squeeze, magnitude, extrapolation } = constants;
  const mixes = extrapolation !== 0;
  to.launch({
    name: 'rope_table',
    texts: [
      ROPE_TABLE,
      PRECISE,
      factors ? FACTORED_ANGLE : FREE_ANGLE,
      mixes ? yarnTurnText(extrapolationRamp(parameters, constants)) : PLAIN_TURN,
    ],
    constants: {
      THREADS: TABLE_THREADS,
      COUNT: to.countOf(out),
      PAIRS: pairs,
      RATIO: { f32: ratio },
      SQUEEZE: { f32: squeeze },
      MAGNITUDE: { f32: magnitude },
    },
    args: {
      counts: to.counts,
      positions: to.index(positions),
      ...(factors ? { factors: to.vector(factors, FLOAT_LAYOUT) } : {}),
      y: write(out),
    },
    grid: [to.capacity(out), Math.ceil(pairs / TABLE_THREADS)],
  });
}

export function lowerRope({ x, table, headSize, pairs, out }: RopeOp, to: Lowering): void {
  launchElementwise(to, 'rope', {
    texts: [ROPE, TURN],
    constants: { HEAD: headSize, TURNED: table.width, INTERLEAVED: pairs === 'interleaved' },
    args: { x: read(x), table: read(table) },
    out,
  });
}
