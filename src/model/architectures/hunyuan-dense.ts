import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { real } from '../synthetic-family.ts';

/**
 * Hunyuan, dense, and the text half of its vision models: Q/K norms after RoPE (Tencent 2025). A file may specify by
 * how much its context exceeds the trained one: the RoPE base grows accordingly.
 */
export const hunyuanDense: Architecture = {
  names: ['hunyuan-dense', 'hunyuan_vl'],
  configure(read) {
    const sizes = readDecoder(read);
    const { norm, rope } = sizes;
    if (read.architecture === 'hunyuan_vl') read.checkSections(rope.dimensions, 'consecutive');
    const { keySize } = sizes.heads(0);
    const alpha = read.real('rope.scaling.alpha', 0);
    const isStretched = alpha > 0 && read.wanted.rope?.base === undefined;
    const base = isStretched ? Math.fround(rope.base * alpha ** (keySize / (keySize - 2))) : rope.base;
    const queryNorm = { norm, of: 'head', place: 'after rotation' } as const;
    return decoder({ ...sizes, rope: { ...rope, base } }, (layer) =>
      preNormLayer(
        norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox', queryNorm })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
      ),
    );
  },
  synthetic: { metadata: () => ({ 'rope.scaling.alpha': real(50) }) },
};
