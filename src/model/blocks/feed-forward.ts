import type { GraphBuilder } from '../../ops/graph.ts';
import { type Activation, add, gated, scale, unary } from '../../ops/elementwise.ts';
import { slice } from '../../ops/slice.ts';
import type { Tensor } from '../../ops/value.ts';
import type { PartScope } from '../part-scope.ts';
import type { Block } from './block.ts';
import { linear } from './linear.ts';

/**
 * xIELU with what a layer learned of it (Huang & Schlag 2025): `positive x² + linear x` where x > 0, and
 * `negative (eˣ - 1 - x) + linear x` elsewhere.
 */
export interface Xielu {
  readonly kind: 'xielu';
  readonly positive: number;
  readonly negative: number;
  readonly linear: number;
}

/** The feed-forward of one layer. */
export type FeedForwardSpec = {
  /** Width of the hidden layer. */
  readonly hidden: number;
  /** Whether the values `ffn_*.scale` count, which stand beside NVFP4 weights: llama.cpp takes them for some families alone. */
  readonly scales?: boolean;
} & (
  | {
      /** `gated` by a second matrix (Shazeer 2020), `fused` with it in `ffn_up` (first the gate's rows), or `plain`. */
      readonly form: 'gated' | 'fused';
      readonly activation: Activation;
    }
  | { readonly form: 'plain'; readonly activation: Activation | Xielu }
);

/** A feed-forward over each row by itself. */
export type FeedForwardBlock = Block<'feed-forward', FeedForwardSpec>;

/** Makes the block; its weights are `ffn_gate`, `ffn_up` and `ffn_down`. */
export function feedForward(spec: FeedForwardSpec): FeedForwardBlock {
  return { kind: 'feed-forward', spec, record: (scope, x) => recordFeedForward(scope, x, spec) };
}

function recordFeedForward(scope: PartScope, x: Tensor, spec: FeedForwardSpec): Tensor {
  const { g } = scope;
  const { hidden } = spec;
  const order = spec.scales ? 'after' : 'never';
  const product = (of: Tensor, name: string, rows: number) => linear(scope, of, { name, rows, scale: order });
  const hiddenLayer = (): Tensor => {
    switch (spec.form) {
      case 'plain': {
        const up = product(x, 'ffn_up', hidden);
        const { activation } = spec;
        return typeof activation === 'string' ? unary(g, activation, up) : recordXielu(g, up, activation);
      }
      case 'gated': {
        const gate = product(x, 'ffn_gate', hidden);
        return gated(g, spec.activation, gate, product(x, 'ffn_up', hidden));
      }
      case 'fused': {
        const both = product(x, 'ffn_up', 2 * hidden);
        const gate = slice(g, both, { first: 0, width: hidden });
        return gated(g, spec.activation, gate, slice(g, both, { first: hidden, width: hidden }));
      }
    }
  };
  return product(hiddenLayer(), 'ffn_down', x.width);
}

/** As operators of elements, which devices compute together: one family has it, and its products take the time. */
function recordXielu(g: GraphBuilder, x: Tensor, { positive, negative, linear: slope }: Xielu): Tensor {
  const above = scale(g, unary(g, 'relu_squared', x), positive);
  // n = max(-x, 0), and e⁻ⁿ - 1 as tanh(-n / 2) (e⁻ⁿ + 1), which loses nothing near zero.
  const n = unary(g, 'relu', scale(g, x, -1));
  const half = scale(g, n, -0.5);
  const decay = unary(g, 'exp', scale(g, n, -1));
  const growth = add(g, gated(g, 'tanh', half, decay), unary(g, 'tanh', half));
  const below = scale(g, add(g, growth, n), negative);
  return add(g, add(g, above, below), scale(g, x, slope));
}
