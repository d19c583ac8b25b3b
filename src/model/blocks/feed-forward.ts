import { type Activation, gated, unary } from '../../ops/elementwise.ts';
import { slice } from '../../ops/slice.ts';
import type { Tensor } from '../../ops/value.ts';
import type { PartScope } from '../part-scope.ts';
import type { Block } from './block.ts';
import { linear } from './linear.ts';

/** The feed-forward of one layer. */
export interface FeedForwardSpec {
  /** `gated` by a second matrix (Shazeer 2020), `fused` with it in `ffn_up` (first the gate's rows), or `plain`. */
  readonly form: 'gated' | 'fused' | 'plain';
  /** Width of the hidden layer. */
  readonly hidden: number;
  readonly activation: Activation;
  /** Whether the values `ffn_*.scale` count, which stand beside NVFP4 weights: llama.cpp takes them for some families alone. */
  readonly scales?: boolean;
}

/** A feed-forward over each row by itself. */
export type FeedForwardBlock = Block<'feed-forward', FeedForwardSpec>;

/** Makes the block; its weights are `ffn_gate`, `ffn_up` and `ffn_down`. */
export function feedForward(spec: FeedForwardSpec): FeedForwardBlock {
  return { kind: 'feed-forward', spec, record: (scope, x) => recordFeedForward(scope, x, spec) };
}

function recordFeedForward(scope: PartScope, x: Tensor, spec: FeedForwardSpec): Tensor {
  const { g } = scope;
  const { form, hidden, activation } = spec;
  const scale = spec.scales ? 'after' : 'never';
  const product = (of: Tensor, name: string, rows: number) => linear(scope, of, { name, rows, scale });
  const hiddenLayer = (): Tensor => {
    switch (form) {
      case 'plain':
        return unary(g, activation, product(x, 'ffn_up', hidden));
      case 'gated': {
        const gate = product(x, 'ffn_gate', hidden);
        return gated(g, activation, gate, product(x, 'ffn_up', hidden));
      }
      case 'fused': {
        const both = product(x, 'ffn_up', 2 * hidden);
        const gate = slice(g, both, { first: 0, width: hidden });
        return gated(g, activation, gate, slice(g, both, { first: hidden, width: hidden }));
      }
    }
  };
  return product(hiddenLayer(), 'ffn_down', x.width);
}
