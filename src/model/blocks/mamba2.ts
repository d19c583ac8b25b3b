import { causalConv } from '../../ops/causal-conv.ts';
import { add, gated, unary } from '../../ops/elementwise.ts';
import { rmsNorm } from '../../ops/norm.ts';
import { selectiveScan } from '../../ops/selective-scan.ts';
import { slice } from '../../ops/slice.ts';
import type { Tensor } from '../../ops/value.ts';
import type { ConfigReader } from '../config-reader.ts';
import type { PartScope } from '../part-scope.ts';
import type { Block, LayerInputs } from './block.ts';
import { linear } from './linear.ts';
import type { Norm } from './norm.ts';

/** Sizes of a Mamba-2 block. They count elements, except for the numbers of heads and groups. */
export interface Mamba2Spec {
  readonly heads: number;
  readonly headSize: number;
  readonly stateSize: number;
  /** Groups of heads that share `b` and `c` and are normalized together. */
  readonly groups: number;
  /** Kernel size of the convolution. */
  readonly taps: number;
  /** Norm of each group's gated result, applied if the file has `ssm_norm`. */
  readonly norm: Norm;
}

/** Mamba-2 (Dao & Gu 2024, "Transformers are SSMs"): a causal convolution, then a selective scan by head, a gate and a norm. */
export function mamba2(spec: Mamba2Spec): Block<'mamba-2', Mamba2Spec> {
  return {
    kind: 'mamba-2',
    spec,
    state: { kind: 'slots' },
    record: (scope, x, layer) => recordMamba2(scope, x, spec, layer),
  };
}

/** Reads the sizes. Throws `MODEL_CONFIG` for those that do not divide evenly. */
export function readMamba2(read: ConfigReader): Omit<Mamba2Spec, 'norm'> {
  const inner = read.count('ssm.inner_size');
  const heads = read.count('ssm.time_step_rank');
  const groups = read.count('ssm.group_count');
  if (inner % heads !== 0) read.refuse('ssm.time_step_rank', `${heads}`, `a divisor of ${inner} values`);
  if (heads % groups !== 0) read.refuse('ssm.group_count', `${groups}`, `a divisor of ${heads} heads`);
  const stateSize = read.count('ssm.state_size');
  return { heads, headSize: inner / heads, stateSize, groups, taps: read.count('ssm.conv_kernel') };
}

function recordMamba2(scope: PartScope, x: Tensor, spec: Mamba2Spec, { states }: LayerInputs): Tensor {
  const { g } = scope;
  const { heads, headSize, stateSize, groups, taps } = spec;
  const inner = heads * headSize;
  const written = groups * stateSize;
  const width = inner + 2 * written;
  const all = linear(scope, x, { name: 'ssm_in', rows: inner + width + heads });
  const convolved = causalConv(g, slice(g, all, { offset: inner, width }), {
    weight: scope.weight('ssm_conv1d.weight', width, taps),
    bias: scope.optional('ssm_conv1d.bias', 1, width),
    fn: 'silu',
    last: states.perSlot('conv', (taps - 1) * width),
  });
  const steps = slice(g, all, { offset: inner + width, width: heads });
  const scanned = selectiveScan(
    g,
    {
      x: slice(g, convolved, { offset: 0, width: inner }),
      b: slice(g, convolved, { offset: inner, width: written }),
      c: slice(g, convolved, { offset: inner + written, width: written }),
    },
    {
      ...{ heads, headSize, stateSize, groups },
      dt: unary(g, 'softplus', add(g, steps, scope.weight('ssm_dt.bias', 1, heads))),
      a: scope.weight('ssm_a', heads, 1),
      d: scope.weight('ssm_d', heads, 1),
      state: states.perSlot('scan', inner * stateSize),
    },
  );
  const mixed = gated(g, 'silu', slice(g, all, { offset: 0, width: inner }), scanned);
  return linear(scope, normed(scope, mixed, spec), { name: 'ssm_out', rows: x.width });
}

/** Normalizes each group with its own row of weights. */
function normed(scope: PartScope, x: Tensor, { groups, norm }: Mamba2Spec): Tensor {
  const weight = scope.optional('ssm_norm.weight', groups, x.width / groups);
  return weight ? rmsNorm(scope.g, x, weight, norm.epsilon) : x;
}
