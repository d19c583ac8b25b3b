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
  configure: (read) => llamaEncoder(read, { pairs: 'neox', scales: false }),
  synthetic: { metadata: () => ({ 'attention.causal': flag(false), pooling_type: count(1) }) },
};

/** Llama-Embed and other Llamas whose rows attend to the whole text (NVIDIA 2025). */
export const llamaEmbed: Architecture = {
  names: ['llama-embed'],
  configure: (read) => llamaEncoder(read, { pairs: 'interleaved', scales: true }),
  synthetic: { metadata: () => ({ 'attention.causal': flag(false), pooling_type: count(1) }) },
};

/** Llama's layers, each row attending to the whole text, which is embedded. */
function llamaEncoder(
  read: ConfigReader,
  { pairs, scales }: { readonly pairs: 'neox' | 'interleaved'; readonly scales: boolean },
): ModelConfig {
  const sizes = readDecoder(read);
  const embeds = embeddingHead(read, { pooling: readPooling(read) ?? 'none' });
  const made = decoder({ ...sizes, embeds }, (layer) =>
    preNormLayer(
      sizes.norm,
      attention(attentionSpec(sizes.heads(layer), { pairs, bidirectional: true })),
      feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu', scales }),
    ),
  );
  return { ...made, bidirectional: true };
}
