import type { Architecture } from '../architecture.ts';
import { mixtureOfExperts, requireExperts } from '../blocks/experts.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { type IndexerSpec, readIndexer } from '../blocks/indexer.ts';
import { latentAttention, readLatents } from '../blocks/latent-attention.ts';
import type { ConfigReader } from '../config-reader.ts';
import { type DecoderSizes, decoder, preNormLayer, readDecoder, ROPE } from '../stacks/decoder.ts';
import {
  count,
  expertMetadata,
  flag,
  flags,
  isSmall,
  latentMetadata,
  OUTPUT,
  real,
  reals,
} from '../synthetic-family.ts';

/**
 * Hy 4: several residual streams that are continued for themselves, gated latent attention with sinks, to the positions that an
 * indexer chooses in files that have one, and experts after a few dense layers (Tencent 2026).
 */
export const hyV4: Architecture = {
  names: ['hy_v4'],
  configure(read) {
    const experts = requireExperts(read, { shared: 'counted' });
    const sizes = readDecoder(read, { hidden: experts.hidden });
    const { norm } = sizes;
    // The indexer reads the latent of queries.
    read.count('attention.q_lora_rank');
    const indexerOf = readIndexers(read, sizes);
    const limit = read.reals('swiglu_clamp_exp', 0);
    const hyper = {
      streams: read.count('hyper_connection.count'),
      mixture: { magnitude: read.real('hyper_connection.magnitude') },
      epsilon: read.real('hyper_connection.epsilon'),
      normEpsilon: norm.epsilon,
    };
    const attentionOf = (layer: number) => {
      const latents = readLatents(read, sizes.heads(layer), sizes.rope.dimensions);
      const scale = 1 / Math.sqrt(latents.plainSize + latents.rotatedSize);
      return latentAttention({
        ...{ ...latents, norm, scale, outputGate: 'attn_gate', hasSinks: true },
        rope: { table: ROPE, pairs: 'interleaved' },
        indexer: indexerOf(layer),
      });
    };
    const feedForwardOf = (layer: number) =>
      layer < experts.leadingDense
        ? feedForward({ form: 'gated', activation: 'silu', hidden: sizes.hidden(layer) })
        : mixtureOfExperts({ ...experts, activation: 'silu', limit: limit(layer), limited: 'gate' });
    const layerOf = (layer: number) => ({
      ...preNormLayer(norm, attentionOf(layer), feedForwardOf(layer)),
      hyper,
    });
    return decoder(sizes, layerOf, { hyper, copies: hyper.streams });
  },
  synthetic: {
    metadata: (shape) => ({
      ...latentMetadata(shape, 'absorbed'),
      ...expertMetadata(shape),
      'attention.indexer.head_count': count(isSmall(shape) ? 8 : 64),
      'attention.indexer.key_length': count(isSmall(shape) ? 64 : 128),
      'attention.indexer.top_k': count(isSmall(shape) ? 8 : 2048),
      'attention.indexer.types': flags(shape.layers, (layer) => layer % 2 === 0),
      'hyper_connection.count': count(4),
      'hyper_connection.epsilon': real(1e-3),
      'hyper_connection.magnitude': real(2),
      leading_dense_block_count: count(1),
      expert_shared_count: count(1),
      expert_weights_norm: flag(true),
      expert_weights_scale: real(2.5),
      expert_gating_func: count(2),
      swiglu_clamp_exp: reals(shape.layers, () => 0.5),
    }),
    optional: [OUTPUT, 'exp_probs_b.bias'],
  },
};

/** The indexer of each layer, of which some have their own and others the choice of the last one; none in some files. */
function readIndexers(
  read: ConfigReader,
  { layers, rope, norm }: DecoderSizes,
): (layer: number) => IndexerSpec | 'earlier' | undefined {
  if (read.countOrZero('attention.indexer.top_k') === 0) return () => undefined;
  const own: IndexerSpec = {
    ...readIndexer(read, rope.dimensions),
    ...{ rope: { table: ROPE, pairs: 'interleaved', of: 'last' }, shares: true, normEpsilon: norm.epsilon },
  };
  const key = 'attention.indexer.types';
  const chooses = read.layerFlags(key, layers);
  if (!chooses?.(0)) read.refuse(key, chooses ? 'false' : 'nothing', 'true for the first layer');
  return (layer) => (chooses(layer) ? own : 'earlier');
}
