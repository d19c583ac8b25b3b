import { add, scale } from '../../ops/elementwise.ts';
import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import type { Block } from '../blocks/block.ts';
import { mixtureOfExperts, requireExperts } from '../blocks/experts.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { normalize } from '../blocks/norm.ts';
import type { ConfigReader } from '../config-reader.ts';
import { attentionSpec, decoder, type DecoderSizes, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { count, expertMetadata, OUTPUT, real } from '../synthetic-family.ts';

/** What Grok 1's files do not say. */
const LOGIT_SCALE = 0.5773502691896257;
const EMBEDDING_SCALE = 78.38367176906169;
const SCORE_SCALE = 0.08838834764831845;
const SCORE_CAP = 30;

/** Rotations above which YaRN extrapolates, if the file does not say. */
const BETA_FAST = 8;

/**
 * Grok 1 and 2: norms before and after each sublayer, soft caps of scores, experts with GELU, in Grok 2 beside a feed-forward
 * (xAI 2024, 2025). The cap of the router's logits is not applied, as in llama.cpp.
 */
export const grok: Architecture = {
  names: ['grok'],
  configure(read) {
    const sizes = readDecoder(read);
    const { norm } = sizes;
    const hidden = read.countOrZero('expert_feed_forward_length') || sizes.hidden(0);
    const experts = requireExperts(read, { normalized: true, hidden, settings: [] });
    read.real('router_logit_softcapping', 0);
    const traits = {
      pairs: 'neox',
      scale: read.real('attention.output_scale', SCORE_SCALE),
      softCap: read.real('attn_logit_softcapping', SCORE_CAP),
    } as const;
    const layerOf = (layer: number) => {
      const mixture = mixtureOfExperts({ ...experts, activation: 'gelu_tanh' });
      const { sublayers } = preNormLayer(
        norm,
        attention(attentionSpec(sizes.heads(layer), traits)),
        besideIfThere(mixture, sizes, layer),
      );
      const outputNorm = { ...norm, name: 'attn_output_norm' };
      return {
        sublayers: sublayers.map((sublayer, i) => (i === 0 ? { ...sublayer, outputNorm } : sublayer)),
      };
    };
    return decoder({ ...sizes, rope: readRope(read, sizes) }, layerOf, {
      scale: read.real('embedding_scale', EMBEDDING_SCALE) || 1,
      logitScale: read.real('logit_scale', LOGIT_SCALE),
      softCap: read.real('final_logit_softcapping', 0) || undefined,
    });
  },
  synthetic: {
    metadata: (shape) => ({
      ...expertMetadata(shape),
      embedding_scale: real(3),
      'attention.output_scale': real(0.4),
      attn_logit_softcapping: real(30),
      router_logit_softcapping: real(30),
      final_logit_softcapping: real(20),
      expert_feed_forward_length: count(32),
    }),
    optional: [OUTPUT, 'ffn_up.weight'],
  },
};

/** The model's RoPE, in Grok 2 with YaRN. */
function readRope(read: ConfigReader, { rope }: DecoderSizes): DecoderSizes['rope'] {
  const factor = read.real('rope.scaling.yarn_attn_factor', 1);
  if (factor !== 1) read.refuse('rope.scaling.yarn_attn_factor', `${factor}`, '1, as in all published files');
  const { scaling } = rope;
  if (scaling.kind !== 'yarn') return rope;
  const { betaFast, extrapolation } = read.wanted.rope ?? {};
  const share = read.real('rope.scaling.yarn_ext_factor', scaling.extrapolation);
  const own = {
    betaFast: betaFast ?? read.real('rope.scaling.yarn_beta_fast', BETA_FAST),
    extrapolation: extrapolation ?? (share < 0 ? 1 : share),
  };
  return { ...rope, scaling: { ...scaling, ...own } };
}

/**
 * The experts, in files with a feed-forward beside them: the sum of both divided by the root of 2. Then a norm, for which files have
 * two names.
 */
function besideIfThere(experts: Block, { hidden, norm }: DecoderSizes, layer: number): Block {
  const dense = feedForward({ form: 'gated', hidden: hidden(layer), activation: 'gelu_tanh' });
  return {
    kind: 'experts beside a feed-forward',
    spec: { experts: experts.spec, dense: dense.spec },
    record: (scope, x, inputs) => {
      const mixed = experts.record(scope, x, inputs);
      const both = scope.has('ffn_up.weight')
        ? scale(scope.g, add(scope.g, dense.record(scope, x, inputs), mixed), Math.SQRT1_2)
        : mixed;
      const names = ['layer_output_norm', 'post_ffw_norm'] as const;
      const name = scope.has(`${names[0]}.weight`) ? names[0] : names[1];
      return normalize(scope, both, { ...norm, name });
    },
  };
}
