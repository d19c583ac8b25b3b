import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { expertsOrDense, requireExperts } from '../blocks/experts.ts';
import type { LayerSpec } from '../model-config.ts';
import { attentionSpec, decoder, parallelLayer, readDecoder } from '../stacks/decoder.ts';
import { count, expertMetadata, flag, real, SHORT_WINDOW } from '../synthetic-family.ts';

/**
 * Command A with experts: Command A's layers, the first of which are dense and always use RoPE; the shared expert and
 * the selected ones are averaged (Cohere 2026).
 */
export const cohere2moe: Architecture = {
  names: ['cohere2moe'],
  configure(read) {
    const own = requireExperts(read, { gate: 'sigmoid' });
    const norm = read.has('attention.layer_norm_rms_epsilon') ? 'rms' : 'layer';
    const sizes = readDecoder(read, { norm, hidden: own.hidden });
    const shared = read.countOrZero('expert_shared_count');
    const sharedHidden = shared > 0 ? own.sharedHidden || own.hidden * shared : 0;
    const experts = { ...own, sharedHidden };
    const window = read.count('attention.sliding_window');
    const windowed = read.windowed(4, 'first');
    const layerOf = (layer: number) => {
      const isDense = layer < experts.leadingDense;
      const isLocal = windowed(layer);
      // A layer that predicts is rotated, whether it has a window or not.
      const pairs = isLocal || isDense || layer >= sizes.layers ? 'interleaved' : undefined;
      const layerSpec = parallelLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs, ...(isLocal && { window }) })),
        expertsOrDense(experts, layer, { hidden: sizes.hidden(layer), activation: 'silu', scales: true }),
      );
      return isDense || sharedHidden === 0 ? layerSpec : averaged(layerSpec);
    };
    return decoder(sizes, layerOf, {
      logitScale: read.real('logit_scale', 1, true),
      predictor: { reads: 'normed', layer: layerOf },
    });
  },
  synthetic: {
    metadata: (shape) => ({
      ...expertMetadata(shape),
      leading_dense_block_count: count(1),
      expert_shared_count: count(1),
      expert_weights_norm: flag(true),
      'attention.sliding_window': count(SHORT_WINDOW),
      logit_scale: real(0.25),
    }),
  },
};

/** Halves the sum of the selected experts and the shared one. */
function averaged({ sublayers }: LayerSpec): LayerSpec {
  return { sublayers: sublayers.map((half, index) => (index === 0 ? half : { ...half, factor: 0.5 })) };
}
