import type { Architecture } from '../architecture.ts';
import { expertsOrDense, requireExperts } from '../blocks/experts.ts';
import { kimiDeltaAttention, readKimiDelta } from '../blocks/kimi-delta-attention.ts';
import { latentAttention, readLatents } from '../blocks/latent-attention.ts';
import type { ConfigReader } from '../config-reader.ts';
import type { EarlierStreams } from '../model-config.ts';
import { decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import {
  count,
  deltaMetadata,
  deltaShapes,
  expertMetadata,
  flag,
  isSmall,
  OUTPUT,
  real,
} from '../synthetic-family.ts';

/**
 * Kimi K3: Kimi delta attention with bounded decays, gated latent attention without RoPE in the layers that have KV heads, experts
 * between shared projections, and sublayers that read the residual stream of every so many layers (Kimi team 2026).
 */
export const kimiK3: Architecture = {
  names: ['kimi-k3'],
  configure(read) {
    const own = requireExperts(read, { shared: 'counted' });
    const sizes = readDecoder(read, { hidden: own.hidden, hybrid: true });
    const { norm } = sizes;
    const latent = read.countOrZero('expert_latent_length') || undefined;
    const experts = { ...own, latent, latentNorm: norm };
    const bound = read.real('activation.situ_beta');
    if (bound <= 0) read.refuse('activation.situ_beta', `${bound}`, 'a number above 0');
    const upBound = Math.max(0, read.real('activation.situ_linear_beta'));
    const activation = { kind: 'situ', bound, upBound } as const;
    const delta = kimiDeltaAttention({
      ...readKimiDelta(read),
      ...{ heads: sizes.heads(0).heads, norm, rank: 'head', gate: 'ssm_g', rates: 'negative vector' },
      lowestDecay: read.has('kda.gate_lower_bound') ? read.real('kda.gate_lower_bound') : undefined,
    });
    const attentionOf = (layer: number) => {
      const latents = readLatents(read, sizes.heads(layer), sizes.rope.dimensions);
      const scale = 1 / Math.sqrt(latents.plainSize + latents.rotatedSize);
      return latentAttention({ ...latents, norm, scale, outputGate: 'attn_gate if there' });
    };
    const earlierOf = readEarlier(read, norm.epsilon);
    const layerOf = (layer: number) => {
      const mixer = sizes.heads(layer).kvHeads === 0 ? delta : attentionOf(layer);
      const feedForward = expertsOrDense(experts, layer, { hidden: sizes.hidden(layer), activation });
      const earlier = earlierOf(layer);
      return { ...preNormLayer(norm, mixer, feedForward), ...(earlier && { earlier }) };
    };
    return decoder(sizes, layerOf, { isRotary: false, earlier: earlierOf(sizes.layers) });
  },
  synthetic: {
    metadata: (shape) => ({
      ...deltaMetadata(shape),
      ...expertMetadata(shape),
      'attention.q_lora_rank': count(isSmall(shape) ? 24 : 1536),
      'kda.gate_lower_bound': real(-5),
      'attn_res.block_size': count(isSmall(shape) ? 2 : 12),
      'activation.situ_beta': real(4),
      'activation.situ_linear_beta': real(25),
      leading_dense_block_count: count(1),
      expert_shared_count: count(2),
      expert_latent_length: count(isSmall(shape) ? 24 : 3584),
      expert_weights_norm: flag(true),
      expert_weights_scale: real(2.5),
      expert_gating_func: count(2),
    }),
    shapes: deltaShapes,
    optional: [OUTPUT, 'exp_probs_b.bias', 'attn_gate.weight', 'ffn_routed_norm.weight'],
    unused: ({ width }) => ({ 'attn_res_score.weight': [width] }),
  },
};

/** Which streams each layer reads and keeps, and, for the number behind the last, those that the head reads. */
function readEarlier(read: ConfigReader, epsilon: number): (layer: number) => EarlierStreams | undefined {
  const period = read.countOrZero('attn_res.block_size');
  if (period === 0) return () => undefined;
  const nameOf = (layer: number) => `stream into ${layer}`;
  return (layer) => {
    const kept = Array.from({ length: Math.ceil(layer / period) }, (_, index) => nameOf(index * period));
    return { kept, epsilon, ...(layer % period === 0 && { keeps: nameOf(layer) }) };
  };
}
