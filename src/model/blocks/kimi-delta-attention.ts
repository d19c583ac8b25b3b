import { causalConv } from '../../ops/causal-conv.ts';
import { add, gated, mul, scale, unary } from '../../ops/elementwise.ts';
import { gatedDelta } from '../../ops/gated-delta.ts';
import type { Tensor } from '../../ops/value.ts';
import type { ConfigReader } from '../config-reader.ts';
import type { PartScope } from '../part-scope.ts';
import type { Block, LayerInputs } from './block.ts';
import { linear } from './linear.ts';
import { type Norm, normalize } from './norm.ts';

/** Kimi delta attention; sizes count elements. */
export interface KimiDeltaSpec {
  readonly heads: number;
  /** Size of a query, key or value head. */
  readonly headSize: number;
  /** Rows that the convolutions cover, including the row's own. */
  readonly taps: number;
  /** Norm of each head's result; its epsilon also normalizes the lengths of queries and keys. */
  readonly norm: Norm;
  /**
   * Whether decays and output gates are products with one matrix (`ssm_f_a`, `ssm_g_a`), or with a second one after it
   * that reads a vector of a head's size (`ssm_f_b`, `ssm_g_b`).
   */
  readonly rank: 'full' | 'head';
  /** `ssm_g` if output gates are products with this one matrix, whatever decays are (Kimi K3). */
  readonly gate?: 'ssm_g';
  /**
   * The lowest logarithm of a decay, which a sigmoid multiplies (Ling 3, Kimi K3). Default: the decay's rate multiplies a
   * softplus, without a bound.
   */
  readonly lowestDecay?: number | undefined;
  /** `negative vector` if files have the negatives of the rates (Kimi K3). Default: a column; negative ones without a bound. */
  readonly rates?: 'negative vector';
}

/**
 * Creates Kimi delta attention (Kimi team 2025, "Kimi Linear"): queries, keys and values, each through its own
 * convolution, the gated delta rule with a decay per key channel, a norm per head, and a gate. Its weights are `attn_q`,
 * `attn_k`, `attn_v`, `ssm_conv1d_{q,k,v}`, `ssm_a`, `ssm_dt`, `ssm_beta`, `ssm_norm`, `attn_output`, and those of decays and
 * gates.
 */
export function kimiDeltaAttention(spec: KimiDeltaSpec): Block<'kimi delta attention', KimiDeltaSpec> {
  return {
    kind: 'kimi delta attention',
    spec,
    state: { kind: 'slots' },
    record: (scope, x, layer) => recordKimiDelta(scope, x, spec, layer),
  };
}

/** Reads the sizes. Throws `MODEL_CONFIG`. */
export function readKimiDelta(read: ConfigReader): Pick<KimiDeltaSpec, 'headSize' | 'taps'> {
  return { headSize: read.count('kda.head_dim'), taps: read.count('ssm.conv_kernel') };
}

function recordKimiDelta(scope: PartScope, x: Tensor, spec: KimiDeltaSpec, { states }: LayerInputs): Tensor {
  const { g } = scope;
  const { heads, headSize, taps, norm } = spec;
  const width = heads * headSize;
  const convolved = (name: 'q' | 'k' | 'v'): Tensor =>
    causalConv(g, product(scope, x, `attn_${name}`, width), {
      weight: scope.weight(`ssm_conv1d_${name}.weight`, width, taps),
      fn: 'silu',
      last: states.perSlot(`conv ${name}`, (taps - 1) * width),
    });
  const mixed = gatedDelta(
    g,
    {
      q: convolved('q'),
      k: convolved('k'),
      v: convolved('v'),
      decay: recordDecay(scope, x, spec),
      beta: unary(g, 'sigmoid', product(scope, x, 'ssm_beta', heads)),
    },
    {
      ...{ heads, keyHeads: heads, keySize: headSize, valueSize: headSize },
      keyOrder: 'interleaved',
      lengthEpsilon: norm.epsilon,
      scale: 1 / Math.sqrt(headSize),
      state: states.perSlot('delta', width * headSize),
    },
  );
  const normed = normalize(scope, mixed, { ...norm, name: 'ssm_norm' }, headSize);
  const gate = spec.gate ? product(scope, x, spec.gate, width) : recordChannels(scope, x, 'ssm_g', spec);
  const opened = gated(g, 'sigmoid', gate, normed);
  return product(scope, opened, 'attn_output', x.width);
}

/** The logarithm of each key channel's decay. */
function recordDecay(scope: PartScope, x: Tensor, spec: KimiDeltaSpec): Tensor {
  const { g } = scope;
  const { heads, headSize, lowestDecay } = spec;
  const bias = scope.weight('ssm_dt.bias', 1, heads * headSize);
  const moved = add(g, recordChannels(scope, x, 'ssm_f', spec), bias);
  const isNegative = spec.rates === 'negative vector';
  const rates = isNegative ? scope.weight('ssm_a', 1, heads) : scope.column('ssm_a', heads);
  if (lowestDecay === undefined) return mul(g, unary(g, 'softplus', moved), rates);
  const rated = mul(g, isNegative ? scale(g, moved, -1) : moved, rates);
  return scale(g, unary(g, 'sigmoid', rated), lowestDecay);
}

/** A value for each channel of each head. */
function recordChannels(
  scope: PartScope,
  x: Tensor,
  name: 'ssm_f' | 'ssm_g',
  { heads, headSize, rank }: KimiDeltaSpec,
): Tensor {
  const width = heads * headSize;
  if (rank === 'full') return product(scope, x, `${name}_a`, width);
  return product(scope, product(scope, x, `${name}_a`, headSize), `${name}_b`, width);
}

/** A product whose scale llama.cpp ignores. */
function product(scope: PartScope, x: Tensor, name: string, rows: number): Tensor {
  return linear(scope, x, { name, rows, scale: 'never' });
}
