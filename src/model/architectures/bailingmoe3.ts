import type { Architecture } from '../architecture.ts';
import { mixtureOfExperts, requireExperts } from '../blocks/experts.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { kimiDeltaAttention, type KimiDeltaSpec, readKimiDelta } from '../blocks/kimi-delta-attention.ts';
import { latentAttention, readLatents } from '../blocks/latent-attention.ts';
import type { ConfigReader } from '../config-reader.ts';
import { decoder, preNormLayer, readDecoder, ROPE } from '../stacks/decoder.ts';
import {
  count,
  deltaMetadata,
  deltaShapes,
  expertMetadata,
  flag,
  OUTPUT,
  real,
  reals,
} from '../synthetic-family.ts';

/**
 * Ling and Ring 3: Kimi delta attention with bounded decays, latent attention gated head by head in the layers that have
 * KV heads, and experts after a few dense layers (Ling team 2026).
 */
export const bailingmoe3: Architecture = {
  names: ['bailingmoe3'],
  configure(read) {
    const own = requireExperts(read);
    const shared = Math.max(1, read.countOrZero('expert_shared_count'));
    const experts = { ...own, sharedHidden: own.sharedHidden || shared * own.hidden };
    const sizes = readDecoder(read, { hidden: experts.hidden, hybrid: true });
    const { norm } = sizes;
    const delta = kimiDeltaAttention({ ...readDelta(read), heads: sizes.heads(0).heads, norm, rank: 'full' });
    const [limit, sharedLimit] = [read.reals('swiglu_clamp_exp', 0), read.reals('swiglu_clamp_shexp', 0)];
    const attentionOf = (layer: number) => {
      const latents = readLatents(read, sizes.heads(layer), sizes.rope.dimensions);
      const scale = 1 / Math.sqrt(latents.plainSize + latents.rotatedSize);
      const rope = { table: ROPE, pairs: 'interleaved' } as const;
      return latentAttention({ ...latents, norm, rope, scale, outputGate: 'attn_gate by head' });
    };
    const feedForwardOf = (layer: number) => {
      const limits = { limit: limit(layer), sharedLimit: sharedLimit(layer) };
      return layer < experts.leadingDense
        ? feedForward({
            ...{ form: 'gated', activation: 'silu', hidden: sizes.hidden(layer) },
            limit: limits.sharedLimit,
          })
        : mixtureOfExperts({ ...experts, ...limits, activation: 'silu' });
    };
    const layerOf = (layer: number) => {
      const mixer = sizes.heads(layer).kvHeads === 0 ? delta : attentionOf(layer);
      return preNormLayer(norm, mixer, feedForwardOf(layer));
    };
    return decoder(sizes, layerOf, { predictor: { reads: 'normed', layer: layerOf } });
  },
  synthetic: {
    metadata: (shape) => ({
      ...deltaMetadata(shape),
      ...expertMetadata(shape),
      'kda.gate_lower_bound': real(-5),
      leading_dense_block_count: count(1),
      expert_shared_count: count(1),
      expert_shared_feed_forward_length: count(24),
      expert_weights_norm: flag(true),
      expert_weights_scale: real(2.5),
      expert_gating_func: count(2),
      swiglu_clamp_exp: reals(shape.layers, (layer) => (layer === 1 ? 0.05 : 0)),
      swiglu_clamp_shexp: reals(shape.layers, (layer) => (layer === 0 ? 0 : 0.1)),
    }),
    shapes: deltaShapes,
    optional: [OUTPUT, 'exp_probs_b.bias'],
  },
};

/** Sizes and bound of the delta rule, whose decays have a lower bound in all files ("safe gate"). */
function readDelta(read: ConfigReader): Pick<KimiDeltaSpec, 'headSize' | 'taps' | 'lowestDecay'> {
  if (!read.flag('kda.safe_gate', true)) read.refuse('kda.safe_gate', 'false', 'true');
  const lowestDecay = read.real('kda.gate_lower_bound');
  if (lowestDecay >= 0) read.refuse('kda.gate_lower_bound', `${lowestDecay}`, 'a number below 0');
  return { ...readKimiDelta(read), lowestDecay };
}
