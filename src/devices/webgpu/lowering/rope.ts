import { extrapolationRamp, type RopeOp, type RopeTableOp, ropeConstants } from '../../../ops/index.ts';
import { PRECISE } from '../kernels/library/precise.ts';
import {
  FACTORED_ANGLE,
  PLAIN_ANGLE,
  INTERPOLATED_THETA,
  ROPE,
  ROPE_TABLE,
  ROTATE,
  yarnThetaText,
} from '../kernels/rope.ts';
import { launchElementwise } from './elementwise.ts';
import { read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

const TABLE_THREADS = 64;

export function lowerRopeTable({ positions, factors, parameters, out }: RopeTableOp, to: Lowering): void {
  const pairs = parameters.dimensions / 2;
  const constants = ropeConstants(parameters);
  const { thetaScale, freqScale, sineScale, extrapolation } = constants;
  const mixes = extrapolation !== 0;
  to.launch({
    name: 'rope_table',
    texts: [
      ROPE_TABLE,
      PRECISE,
      factors ? FACTORED_ANGLE : PLAIN_ANGLE,
      mixes ? yarnThetaText(extrapolationRamp(parameters, constants)) : INTERPOLATED_THETA,
    ],
    constants: {
      THREADS: TABLE_THREADS,
      COUNT: to.countOf(out),
      PAIRS: pairs,
      THETA_SCALE: { f32: thetaScale },
      FREQ_SCALE: { f32: freqScale },
      MSCALE: { f32: sineScale },
    },
    args: {
      counts: to.counts,
      positions: to.index(positions),
      ...(factors ? { freq_factors: to.vector(factors, FLOAT_LAYOUT) } : {}),
      y: write(out),
    },
    grid: [to.capacity(out), Math.ceil(pairs / TABLE_THREADS)],
  });
}

export function lowerRope({ x, table, headSize, pairs, out }: RopeOp, to: Lowering): void {
  launchElementwise(to, 'rope', {
    texts: [ROPE, ROTATE],
    constants: { HEAD: headSize, ROTARY_DIM: table.width, INTERLEAVED: pairs === 'interleaved' },
    args: { x: read(x), table: read(table) },
    out,
  });
}
