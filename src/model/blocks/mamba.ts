import { causalConv } from '../../ops/causal-conv.ts';
import { gated, unary } from '../../ops/elementwise.ts';
import { rmsNorm } from '../../ops/norm.ts';
import { selectiveScan } from '../../ops/selective-scan.ts';
import { slice } from '../../ops/slice.ts';
import type { Tensor } from '../../ops/value.ts';
import type { ConfigReader } from '../config-reader.ts';
import type { PartScope } from '../part-scope.ts';
import type { Block, LayerInputs } from './block.ts';
import { linear } from './linear.ts';
import { type Norm, normalize } from './norm.ts';

/** Sizes of a Mamba block. They count elements. */
export interface MambaSpec {
  /** Width of the convolution and the scan. */
  readonly inner: number;
  /** States per inner value. */
  readonly stateSize: number;
  /** Rank of the time steps' low-rank projection (`dt_rank`). */
  readonly rank: number;
  /** Kernel size of the convolution. */
  readonly taps: number;
  /** The norm of `dt`, `b` and `c`, with weights (Jamba) or without (FalconMamba). Default: none. */
  readonly inputNorm?: { readonly norm: Norm & { kind: 'rms' }; readonly weights: boolean };
}

/** Mamba-1 (Gu & Dao 2023): a causal convolution, then a selective scan whose heads are one value wide. */
export function mamba(spec: MambaSpec): Block<'mamba', MambaSpec> {
  return {
    kind: 'mamba',
    spec,
    state: { kind: 'slots' },
    record: (scope, x, layer) => recordMamba(scope, x, spec, layer),
  };
}

/** Reads the sizes. Throws `MODEL_CONFIG`. */
export function readMamba(read: ConfigReader): Omit<MambaSpec, 'inputNorm'> {
  return {
    inner: read.count('ssm.inner_size'),
    stateSize: read.count('ssm.state_size'),
    rank: read.count('ssm.time_step_rank'),
    taps: read.count('ssm.conv_kernel'),
  };
}

function recordMamba(scope: PartScope, x: Tensor, spec: MambaSpec, { states }: LayerInputs): Tensor {
  const { g } = scope;
  const { inner, stateSize, rank, taps, inputNorm } = spec;
  const both = linear(scope, x, { name: 'ssm_in', rows: 2 * inner });
  const convolved = causalConv(g, slice(g, both, { offset: 0, width: inner }), {
    weight: scope.weight('ssm_conv1d.weight', inner, taps),
    bias: scope.weight('ssm_conv1d.bias', 1, inner),
    fn: 'silu',
    last: states.perSlot('conv', (taps - 1) * inner),
  });
  const inputs = linear(scope, convolved, { name: 'ssm_x', rows: rank + 2 * stateSize, scale: 'never' });
  const part = (name: string, first: number, width: number): Tensor => {
    const cut = slice(g, inputs, { offset: first, width });
    if (!inputNorm) return cut;
    const { norm, weights } = inputNorm;
    return weights
      ? normalize(scope, cut, { ...norm, name })
      : rmsNorm(g, cut, { size: width }, norm.epsilon);
  };
  const low = part('ssm_dt_norm', 0, rank);
  const steps = linear(scope, low, { name: 'ssm_dt', rows: inner, scale: 'never', bias: 'always' });
  const scanned = selectiveScan(
    g,
    {
      x: convolved,
      b: part('ssm_b_norm', rank, stateSize),
      c: part('ssm_c_norm', rank + stateSize, stateSize),
    },
    {
      ...{ heads: inner, headSize: 1, stateSize, groups: 1 },
      dt: unary(g, 'softplus', steps),
      a: scope.weight('ssm_a', inner, stateSize),
      d: scope.weight('ssm_d', 1, inner),
      state: states.perSlot('scan', inner * stateSize),
    },
  );
  const gate = slice(g, both, { offset: inner, width: inner });
  return linear(scope, gated(g, 'silu', gate, scanned), { name: 'ssm_out', rows: x.width });
}
