import { attention, kvAppend } from '../../ops/attention.ts';
import { rope } from '../../ops/rope.ts';
import { slice } from '../../ops/slice.ts';
import type { Tensor } from '../../ops/value.ts';
import type { LayerInputs, PartScope } from '../architecture.ts';
import { linear } from '../blocks.ts';
import { type DecoderConfig, hasWindow } from './decoder-config.ts';
import { normalize } from './normalize.ts';

type Scope = PartScope<DecoderConfig>;

/** Grouped-query attention of `x` over the layer's KV cache: [rows, width]. */
export function recordAttention(scope: Scope, x: Tensor, inputs: LayerInputs): Tensor {
  const { g, config } = scope;
  const { heads, kvHeads, keySize, valueSize } = config;
  const windowed = hasWindow(config, inputs.index);
  const turns = inputs.shared.get(windowed && config.windowRope ? 'window turns' : 'turns');
  const { q, k, v } = recordProjections(scope, x);
  const place = (heads: Tensor, norm: string): Tensor => {
    const normed = normalizeHeads(scope, heads, norm);
    if (!turns) return normed;
    return rope(g, normed, { table: turns, headSize: keySize, pairs: config.ropePairs });
  };
  const query = place(q, 'attn_q_norm');
  const cache = inputs.states.pagedCache({ kvHeads, keySize, valueSize });
  kvAppend(g, cache, place(k, 'attn_k_norm'), v);
  const mixed = attention(g, query, cache, {
    heads,
    kvHeads,
    keySize,
    valueSize,
    scale: config.attentionScale,
    window: windowed ? config.window : undefined,
    softCap: config.attentionSoftCap,
  });
  return linear(scope, mixed, { name: 'attn_output', rows: config.width });
}

/** Queries, keys and values, from three matrices or from `attn_qkv`, which holds their rows one behind the other. */
function recordProjections(scope: Scope, x: Tensor): { q: Tensor; k: Tensor; v: Tensor } {
  const { heads, kvHeads, keySize, valueSize } = scope.config;
  const [queries, keys, values] = [heads * keySize, kvHeads * keySize, kvHeads * valueSize];
  if (!scope.has('attn_qkv.weight')) {
    const q = linear(scope, x, { name: 'attn_q', rows: queries });
    const k = linear(scope, x, { name: 'attn_k', rows: keys });
    return { q, k, v: linear(scope, x, { name: 'attn_v', rows: values }) };
  }
  const all = linear(scope, x, { name: 'attn_qkv', rows: queries + keys + values });
  const q = slice(scope.g, all, { first: 0, width: queries });
  const k = slice(scope.g, all, { first: queries, width: keys });
  return { q, k, v: slice(scope.g, all, { first: queries + keys, width: values }) };
}

function normalizeHeads(scope: Scope, x: Tensor, name: string): Tensor {
  const { queryNorm, keySize } = scope.config;
  if (queryNorm === undefined) return x;
  if (queryNorm === 'head, if there' && !scope.has(`${name}.weight`)) return x;
  return normalize(scope, x, { name, size: queryNorm === 'row' ? x.width : keySize });
}
