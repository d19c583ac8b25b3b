import { causalConv } from '../../ops/causal-conv.ts';
import { gated, unary } from '../../ops/elementwise.ts';
import { selectiveScan } from '../../ops/selective-scan.ts';
import { slice } from '../../ops/slice.ts';
import type { Tensor } from '../../ops/value.ts';
import type { ConfigReader } from '../config-reader.ts';
import type { PartScope } from '../part-scope.ts';
import type { Block, LayerInputs } from './block.ts';
import { linear } from './linear.ts';
import { type Norm, normalize } from './norm.ts';

/** Sizes of PLaMo 2's Mamba. They count elements, except for the number of heads. */
export interface MambaHeadsSpec {
  readonly heads: number;
  readonly headSize: number;
  readonly stateSize: number;
  /** Width of what the time steps are projected from. */
  readonly rank: number;
  /** Kernel size of the convolution. */
  readonly taps: number;
  /** Norm of `dt`, `b` and `c`. */
  readonly norm: Norm;
}

/** The least width of what the time steps are projected from, and the part of the residual stream's that it is. */
const LEAST_RANK = 64;
const RANK_DIVISOR = 16;

/**
 * Mamba-1's projections with Mamba-2's heads (Preferred Networks 2025, "PLaMo 2"): a causal convolution, a selective scan by head
 * whose `dt`, `b` and `c` are normalized, and a gate. `ssm_in` has each head's gate before its values.
 */
export function mambaHeads(spec: MambaHeadsSpec): Block<'mamba by heads', MambaHeadsSpec> {
  return {
    kind: 'mamba by heads',
    spec,
    state: { kind: 'slots' },
    record: (scope, x, layer) => recordMambaHeads(scope, x, spec, layer),
  };
}

/** Reads the sizes. Throws `MODEL_CONFIG` for those that do not divide evenly, or groups. */
export function readMambaHeads(read: ConfigReader): Omit<MambaHeadsSpec, 'norm'> {
  const inner = read.count('ssm.inner_size');
  const heads = read.count('ssm.time_step_rank');
  if (inner % heads !== 0) read.refuse('ssm.time_step_rank', `${heads}`, `a divisor of ${inner} values`);
  const groups = read.countOrZero('ssm.group_count');
  if (groups !== 0) read.refuse('ssm.group_count', `${groups}`, '0');
  return {
    ...{ heads, headSize: inner / heads, stateSize: read.count('ssm.state_size') },
    rank: Math.max(LEAST_RANK, Math.floor(read.count('embedding_length') / RANK_DIVISOR)),
    taps: read.count('ssm.conv_kernel'),
  };
}

function recordMambaHeads(
  scope: PartScope,
  x: Tensor,
  spec: MambaHeadsSpec,
  { states }: LayerInputs,
): Tensor {
  const { g } = scope;
  const { heads, headSize, stateSize, rank, taps, norm } = spec;
  const inner = heads * headSize;
  const both = linear(scope, x, { name: 'ssm_in', rows: 2 * inner });
  const half = (offset: number) =>
    slice(g, both, { offset, segmentWidth: headSize, stride: 2 * headSize, width: inner });
  const convolved = causalConv(g, half(headSize), {
    weight: scope.weight('ssm_conv1d.weight', inner, taps),
    fn: 'silu',
    last: states.perSlot('conv', (taps - 1) * inner),
  });
  const inputs = linear(scope, convolved, { name: 'ssm_x', rows: 2 * stateSize + rank });
  const part = (name: string, offset: number, width: number): Tensor =>
    normalize(scope, slice(g, inputs, { offset, width }), { ...norm, name, bare: true });
  const low = part('ssm_dt_norm', 2 * stateSize, rank);
  const steps = linear(scope, low, { name: 'ssm_dt', rows: heads, bias: 'always' });
  const scanned = selectiveScan(
    g,
    { x: convolved, b: part('ssm_b_norm', 0, stateSize), c: part('ssm_c_norm', stateSize, stateSize) },
    {
      ...{ heads, headSize, stateSize, groups: 1 },
      dt: unary(g, 'softplus', steps),
      a: scope.list('ssm_a', heads),
      d: scope.list('ssm_d', heads),
      state: states.perSlot('scan', inner * stateSize),
    },
  );
  return linear(scope, gated(g, 'silu', half(0), scanned), { name: 'ssm_out', rows: x.width });
}
