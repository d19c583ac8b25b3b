import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { mixtureOfExperts, readExperts } from '../blocks/experts.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import type { ConfigReader } from '../config-reader.ts';
import { attentionSpec, decoder, type DecoderSizes, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { count, expertMetadata, OUTPUT, real, text } from '../synthetic-family.ts';

/**
 * Ministral 3, Devstral 2 and others under Mistral's newer name: Llama with YaRN and a query temperature, which is 1 up to
 * the original training context (Mistral AI 2025).
 */
export const mistral3: Architecture = {
  names: ['mistral3'],
  configure(read) {
    const sizes = readDecoder(read);
    const experts = readExperts(read, { normalized: true, hidden: sizes.hidden(0), settings: [] });
    const temperatureScale = read.real('attention.temperature_scale', 0);
    const temperature = { temperatureScale, temperatureLength: sizes.originalContext };
    return decoder({ ...sizes, rope: readRope(read, sizes) }, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(
          attentionSpec(sizes.heads(layer), {
            pairs: 'interleaved',
            ...(temperatureScale !== 0 && temperature),
          }),
        ),
        experts
          ? mixtureOfExperts({ ...experts, activation: 'silu', scales: true })
          : feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu', scales: true }),
      ),
    );
  },
  synthetic: {
    metadata: (shape) => ({
      ...(shape.experts && expertMetadata(shape)),
      'attention.temperature_scale': real(0.1),
      'rope.scaling.type': text('yarn'),
      'rope.scaling.factor': real(4),
      'rope.scaling.yarn_log_multiplier': real(0.5),
      'rope.scaling.original_context_length': count(8),
    }),
    optional: [OUTPUT],
  },
};

/** YaRN's magnitude, divided by that of `yarn_log_multiplier` ("mscale_all_dim") if the file has it. */
function readRope(read: ConfigReader, { rope }: DecoderSizes): DecoderSizes['rope'] {
  const multiplier = read.real('rope.scaling.yarn_log_multiplier', 0);
  const { scaling } = rope;
  if (scaling.kind !== 'yarn' || scaling.extrapolation === 0 || scaling.factor <= 1) return rope;
  const attention = scaling.attention / (1 + 0.1 * multiplier * Math.log(scaling.factor));
  return { ...rope, scaling: { ...scaling, attention } };
}
