import { F16, F32 } from '../../src/formats/index.ts';
import type { GgufPlan, GgufValue, PlannedTensor } from '../../src/gguf/index.ts';

/** A model by what the rules of mixes look at. */
interface MixedModel {
  readonly architecture: string;
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly experts?: number;
  readonly isTied?: true;
  /** Columns of the down projections; default 256. */
  readonly hidden?: number;
}

/** Models that differ in the rules that they meet. */
export const MIXED_MODELS: Readonly<Record<string, MixedModel>> = {
  llama: { architecture: 'llama', layers: 24, heads: 8, kvHeads: 8 },
  'llama-70b': { architecture: 'llama', layers: 80, heads: 16, kvHeads: 2 },
  mixtral: { architecture: 'llama', layers: 16, heads: 8, kvHeads: 2, experts: 8 },
  qwen2: { architecture: 'qwen2', layers: 28, heads: 14, kvHeads: 2, isTied: true, hidden: 160 },
  qwen3moe: { architecture: 'qwen3moe', layers: 16, heads: 8, kvHeads: 2, experts: 16 },
  falcon: { architecture: 'falcon', layers: 32, heads: 8, kvHeads: 1 },
};

const WIDTH = 256;

/** Matrices have few rows: rules look at names, numbers of layers and columns. */
const ROWS = 2;

/** The header of a model; its tensors are F16. */
export function mixedPlan(model: MixedModel): GgufPlan {
  const { architecture, layers, heads, kvHeads, experts = 0, isTied, hidden = WIDTH } = model;
  const u32 = (value: number): GgufValue => ({ type: 'u32', value });
  const tensors: PlannedTensor[] = [];
  const add = (name: string, ...shape: number[]) =>
    tensors.push({ name: `${name}.weight`, shape, format: shape.length > 1 ? F16 : F32 });
  add('token_embd', WIDTH, ROWS);
  if (!isTied) add('output', WIDTH, ROWS);
  for (let layer = 0; layer < layers; layer++) {
    const at = `blk.${layer}`;
    add(`${at}.attn_norm`, WIDTH);
    for (const name of architecture === 'falcon' ? ['qkv'] : ['q', 'k', 'v'])
      add(`${at}.attn_${name}`, WIDTH, ROWS);
    add(`${at}.attn_output`, WIDTH, ROWS);
    const suffix = experts > 0 ? '_exps' : '';
    const copies = experts > 0 ? [experts] : [];
    if (experts > 0) add(`${at}.ffn_gate_inp`, WIDTH, experts);
    add(`${at}.ffn_up${suffix}`, WIDTH, ROWS, ...copies);
    if (architecture !== 'falcon') add(`${at}.ffn_gate${suffix}`, WIDTH, ROWS, ...copies);
    add(`${at}.ffn_down${suffix}`, hidden, ROWS, ...copies);
  }
  const epsilon: GgufValue = { type: 'f32', value: 1e-5 };
  const metadata: [string, GgufValue][] = [
    ['general.architecture', { type: 'string', value: architecture }],
    [`${architecture}.context_length`, u32(64)],
    [`${architecture}.embedding_length`, u32(WIDTH)],
    [`${architecture}.block_count`, u32(layers)],
    [`${architecture}.feed_forward_length`, u32(hidden)],
    [`${architecture}.attention.head_count`, u32(heads)],
    [`${architecture}.attention.head_count_kv`, u32(kvHeads)],
    [`${architecture}.attention.layer_norm_rms_epsilon`, epsilon],
    [`${architecture}.attention.layer_norm_epsilon`, epsilon],
    [`${architecture}.expert_feed_forward_length`, u32(hidden)],
    ...(experts > 0
      ? ([
          [`${architecture}.expert_count`, u32(experts)],
          [`${architecture}.expert_used_count`, u32(2)],
        ] satisfies [string, GgufValue][])
      : []),
  ];
  return { metadata, tensors };
}

/**
 * Formats of tensors as one line of text for people to compare: each format with the tensors that have it, layers as a list.
 */
export function formatsText(formats: Iterable<readonly [tensor: string, format: string]>): string {
  const groups = new Map<string, string[]>();
  for (const [tensor, format] of formats) {
    if (format === 'F32' && tensor.endsWith('_norm.weight')) continue;
    const [, layer, name = tensor] = /^blk\.(\d+)\.(.*)$/.exec(tensor) ?? [];
    const key = `${name.replace(/\.weight$/, '')} ${format}`;
    const layers = groups.get(key) ?? [];
    groups.set(key, layer === undefined ? layers : [...layers, layer]);
  }
  return [...groups]
    .map(([key, layers]) => [key, rangesOf(layers.map(Number))].join(' ').trim())
    .toSorted()
    .join('; ');
}

/** `0-3,7` of numbers in any order. */
function rangesOf(numbers: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const number of numbers.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(',');
}
