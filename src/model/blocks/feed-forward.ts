import type { GraphBuilder } from '../../ops/graph.ts';
import {
  type Activation,
  add,
  clamp,
  gated,
  type GatedFunction,
  LOWEST_F32,
  mul,
  scale,
  unary,
} from '../../ops/elementwise.ts';
import { gaussianTopK } from '../../ops/gaussian-top-k.ts';
import { slice } from '../../ops/slice.ts';
import type { Tensor } from '../../ops/value.ts';
import type { PartScope } from '../part-scope.ts';
import type { Block } from './block.ts';
import { linear } from './linear.ts';
import { type Norm, normalize } from './norm.ts';

/**
 * xIELU with a layer's learned parameters (Huang & Schlag 2025): `positive x² + linear x` where x > 0, and `negative
 * (eˣ - 1 - x) + linear x` elsewhere.
 */
export interface Xielu {
  readonly kind: 'xielu';
  readonly positive: number;
  readonly negative: number;
  readonly linear: number;
}

/**
 * SiTU, of gate and up (Kimi team 2026, "Kimi K3"): `bound tanh(gate / bound) sigmoid(gate) upBound tanh(up / upBound)`; an `upBound`
 * of 0 leaves `up` as it is.
 */
export interface Situ {
  readonly kind: 'situ';
  readonly bound: number;
  readonly upBound: number;
}

/** The feed-forward of one layer. */
export type FeedForwardSpec = {
  /** Width of the hidden layer. */
  readonly hidden: number;
  /**
   * Whether `ffn_*.scale`, which accompany NVFP4 weights, are applied: llama.cpp does so for some architectures only, and to
   * the product by `ffn_down` alone for Talkie.
   */
  readonly scales?: boolean | 'down';
  /** Norm of the hidden layer, `ffn_sub_norm` (BitNet). Default: none. */
  readonly hiddenNorm?: Norm;
} & (
  | {
      /** `gated` by a second matrix (Shazeer 2020), `fused` with it in `ffn_up` (gate rows first), or `plain`. */
      readonly form: 'gated' | 'fused';
      readonly activation: GatedFunction | Situ;
      /** Limit of `gatedWithin`. Default: none. */
      readonly limit?: number | undefined;
      /** Of the gate, what is fewer standard deviations above a row's mean becomes 0 (Gemma 3n). Default: all of it is used. */
      readonly deviations?: number | undefined;
    }
  | { readonly form: 'plain'; readonly activation: Activation | Xielu }
);

/** A feed-forward on each row. */
export type FeedForwardBlock = Block<'feed-forward', FeedForwardSpec>;

/** Creates the block; its weights are `ffn_gate`, `ffn_up` and `ffn_down`. */
export function feedForward(spec: FeedForwardSpec): FeedForwardBlock {
  return { kind: 'feed-forward', spec, record: (scope, x) => recordFeedForward(scope, x, spec) };
}

function recordFeedForward(scope: PartScope, x: Tensor, spec: FeedForwardSpec): Tensor {
  const { g } = scope;
  const { hidden } = spec;
  const product = (of: Tensor, name: string, rows: number) => {
    const isScaled = spec.scales === true || (spec.scales === 'down' && name === 'ffn_down');
    return linear(scope, of, { name, rows, scale: isScaled ? 'after' : 'never' });
  };
  const hiddenLayer = (): Tensor => {
    switch (spec.form) {
      case 'plain': {
        const up = product(x, 'ffn_up', hidden);
        const { activation } = spec;
        return typeof activation === 'string' ? unary(g, activation, up) : recordXielu(g, up, activation);
      }
      case 'gated':
        return recordGated(g, spec, product(x, 'ffn_gate', hidden), product(x, 'ffn_up', hidden));
      case 'fused': {
        const both = product(x, 'ffn_up', 2 * hidden);
        const gate = slice(g, both, { offset: 0, width: hidden });
        return recordGated(g, spec, gate, slice(g, both, { offset: hidden, width: hidden }));
      }
    }
  };
  const inner = hiddenLayer();
  const { hiddenNorm } = spec;
  const read = hiddenNorm ? normalize(scope, inner, { ...hiddenNorm, name: 'ffn_sub_norm' }) : inner;
  return product(read, 'ffn_down', x.width);
}

function recordGated(
  g: GraphBuilder,
  { activation: fn, limit, deviations }: Extract<FeedForwardSpec, { form: 'gated' | 'fused' }>,
  gate: Tensor,
  up: Tensor,
): Tensor {
  const opened = deviations === undefined ? gate : gaussianTopK(g, gate, deviations);
  return gatedWithin(g, { fn, limit }, opened, up);
}

/**
 * `fn(gate) * up`; with a limit above 0, `fn(gate)` is at most the limit (Step 3.5), or `gate` itself is (Maple), and `up` between
 * it and its negative. The limited form is composed of elementwise operators: published models limit few of their layers.
 */
export function gatedWithin(
  g: GraphBuilder,
  {
    fn,
    limit = 0,
    limited,
  }: {
    readonly fn: GatedFunction | Situ;
    readonly limit?: number | undefined;
    readonly limited?: 'gate' | undefined;
  },
  gate: Tensor,
  up: Tensor,
): Tensor {
  if (typeof fn === 'object') return recordSitu(g, fn, gate, up);
  if (limit === 0 || fn === 'swiglu_oai') return gated(g, fn, gate, up);
  const within = (of: Tensor): Tensor => clamp(g, of, LOWEST_F32, limit);
  const bounded = (): Tensor => clamp(g, up, -limit, limit);
  if (limited === 'gate') return gated(g, fn, within(gate), bounded());
  return mul(g, within(unary(g, fn, gate)), bounded());
}

/** Composed of elementwise operators, as xIELU is. */
function recordSitu(g: GraphBuilder, { bound, upBound }: Situ, gate: Tensor, up: Tensor): Tensor {
  const within = (of: Tensor, limit: number): Tensor =>
    limit > 0 ? scale(g, unary(g, 'tanh', scale(g, of, 1 / limit)), limit) : of;
  return mul(g, gated(g, 'sigmoid', gate, within(gate, bound)), within(up, upBound));
}

/** Composed of elementwise operators, which devices fuse: only one architecture uses it, and its products dominate. */
function recordXielu(g: GraphBuilder, x: Tensor, { positive, negative, linear: slope }: Xielu): Tensor {
  const above = scale(g, unary(g, 'relu_squared', x), positive);
  // n = max(-x, 0), and e⁻ⁿ - 1 as tanh(-n / 2) (e⁻ⁿ + 1), which stays accurate near zero.
  const n = unary(g, 'relu', scale(g, x, -1));
  const half = scale(g, n, -0.5);
  const decay = unary(g, 'exp', scale(g, n, -1));
  const growth = add(g, gated(g, 'tanh', half, decay), unary(g, 'tanh', half));
  const below = scale(g, add(g, growth, n), negative);
  return add(g, add(g, above, below), scale(g, x, slope));
}
