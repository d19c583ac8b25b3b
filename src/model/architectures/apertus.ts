import { fail } from '../../base/errors.ts';
import type { GgufValue } from '../../gguf/index.ts';
import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward, type Xielu } from '../blocks/feed-forward.ts';
import type { ConfigReader } from '../config-reader.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { OUTPUT } from '../synthetic-family.ts';

/**
 * Apertus: Q/K norms, and an ungated feed-forward with xIELU, whose parameters are learned per layer (Swiss AI
 * Initiative 2025).
 */
export const apertus: Architecture = {
  names: ['apertus'],
  configure(read) {
    const sizes = readDecoder(read);
    const queryNorm = { norm: sizes.norm, of: 'head' } as const;
    const activation = readXielu(read, sizes.layers);
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox', queryNorm })),
        feedForward({ form: 'plain', hidden: sizes.hidden(layer), activation: activation(layer) }),
      ),
    );
  },
  synthetic: {
    whole: ({ layers }) => ({
      'xielu.alpha_n': each(layers, 0.8),
      'xielu.alpha_p': each(layers, -0.4),
      'xielu.beta': each(layers, 0.5),
      'xielu.eps': each(layers, -1e-6),
    }),
    optional: [OUTPUT],
  },
};

/**
 * Each layer's xIELU; files store the learned values before softplus. The keys do not start with the architecture's
 * name.
 */
function readXielu({ metadata }: ConfigReader, layers: number): (layer: number) => Xielu {
  const [negative, positive, linear, epsilon] = ['alpha_n', 'alpha_p', 'beta', 'eps'].map((name) => {
    const key = `xielu.${name}`;
    const values = metadata.lengthOf(key) === undefined ? undefined : metadata.requireNumbers(key);
    if (values && values.length < layers) {
      fail('MODEL_CONFIG', {
        key,
        found: `${values.length} values`,
        expected: `one for each of ${layers} layers`,
      });
    }
    return (layer: number): number => values?.[layer] ?? metadata.requireNumber(key);
  }) as [LayerNumber, LayerNumber, LayerNumber, LayerNumber];
  for (let layer = 0; layer < layers; layer++) {
    // It keeps the exponential function's argument away from zero, which has no effect in f32.
    const found = epsilon(layer);
    if (Math.abs(found) > 1e-5) {
      fail('MODEL_CONFIG', { key: 'xielu.eps', found: `${found}`, expected: 'at most 1e-5 from zero' });
    }
  }
  return (layer) => ({
    kind: 'xielu',
    positive: softplus(positive(layer)),
    negative: linear(layer) + softplus(negative(layer)),
    linear: linear(layer),
  });
}

type LayerNumber = (layer: number) => number;

function softplus(x: number): number {
  return Math.log1p(Math.exp(x));
}

/** One number per layer, increasing slightly. */
function each(layers: number, first: number): GgufValue {
  return {
    type: 'array',
    element: 'f32',
    values: Array.from({ length: layers }, (_, i) => first * (1 + i / 4)),
  };
}
