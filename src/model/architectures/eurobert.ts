import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import type { ConfigReader } from '../config-reader.ts';
import type { ModelConfig } from '../model-config.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { embeddingHead, readPooling } from '../stacks/embedding-head.ts';
import { count, flag } from '../synthetic-family.ts';

/** EuroBERT: Llama as an encoder (Boizard et al. 2025). */
export const eurobert: Architecture = {
  names: ['eurobert'],
  configure: (read) => llamaEncoder(read, { pairs: 'neox' }),
  synthetic: { metadata: () => ({ 'attention.causal': flag(false), pooling_type: count(1) }) },
};

/** Llama-Embed and other Llamas whose rows attend to the whole text (NVIDIA 2025). */
export const llamaEmbed: Architecture = {
  names: ['llama-embed'],
  configure(read) {
    // The other encoders' files attend to the whole text in llama.cpp, whether they say so or not.
    if (read.flag('attention.causal', true)) {
      read.refuse('attention.causal', 'true, or nothing', 'false: rows attend to the whole text');
    }
    return llamaEncoder(read, { pairs: 'interleaved', scales: true });
  },
  synthetic: { metadata: () => ({ 'attention.causal': flag(false), pooling_type: count(1) }) },
};

/** NeoBERT: the same with the rows of gate and up in one matrix (Le Breton et al. 2025). */
export const neoBert: Architecture = {
  names: ['neo-bert'],
  configure: (read) =>
    llamaEncoder(read, { pairs: 'interleaved', form: 'fused', outputNorm: 'enc.output_norm' }),
  synthetic: {
    metadata: () => ({ 'attention.causal': flag(false), pooling_type: count(2) }),
    optional: ['attn_qkv.weight'],
  },
};

/** How the encoders differ. */
interface EncoderTraits {
  readonly pairs: 'neox' | 'interleaved';
  /** Default `gated`. */
  readonly form?: 'gated' | 'fused';
  /** Whether the scales of the feed-forward are applied. Default: they are not, as in llama.cpp. */
  readonly scales?: boolean;
  /** Name of the last norm. */
  readonly outputNorm?: string;
}

/** Llama's layers, each row attending to the whole text, which is embedded. */
function llamaEncoder(
  read: ConfigReader,
  { pairs, form = 'gated', scales = false, outputNorm = 'output_norm' }: EncoderTraits,
): ModelConfig {
  const sizes = readDecoder(read);
  const embeds = embeddingHead(read, { pooling: readPooling(read) ?? 'none' });
  const layerOf = (layer: number) =>
    preNormLayer(
      sizes.norm,
      attention(attentionSpec(sizes.heads(layer), { pairs, bidirectional: true })),
      feedForward({ form, hidden: sizes.hidden(layer), activation: 'silu', scales }),
    );
  const made = decoder({ ...sizes, embeds }, layerOf, { outputNorm });
  return { ...made, bidirectional: true };
}
