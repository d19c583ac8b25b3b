import { unary } from '../../ops/elementwise.ts';
import { lerp } from '../../ops/lerp.ts';
import { tokenShift } from '../../ops/token-shift.ts';
import type { Block } from './block.ts';
import { linear } from './linear.ts';

/** Sizes of RWKV-7's channel mixing. */
export interface ChannelMixSpec {
  /** Width of the hidden layer. */
  readonly hidden: number;
}

/** RWKV-7's feed-forward over a mixture of each token and the one before (Peng et al. 2025). */
export function channelMix(spec: ChannelMixSpec): Block<'channel mix', ChannelMixSpec> {
  return {
    kind: 'channel mix',
    spec,
    state: { kind: 'slots' },
    record(scope, x, { states }) {
      const { g } = scope;
      const before = tokenShift(g, x, states.perSlot('channel shift', x.width));
      const t = scope.weight('channel_mix_lerp_k.weight', 1, x.width);
      const key = linear(scope, lerp(g, x, before, { t }), { name: 'channel_mix_key', rows: spec.hidden });
      return linear(scope, unary(g, 'relu_squared', key), { name: 'channel_mix_value', rows: x.width });
    },
  };
}
