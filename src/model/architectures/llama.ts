import { fail } from '../../base/errors.ts';
import type { GgufMetadata } from '../../gguf/metadata.ts';
import { attention, kvAppend } from '../../ops/attention.ts';
import { add, gated } from '../../ops/elementwise.ts';
import { embed } from '../../ops/embed.ts';
import { matmul } from '../../ops/matmul.ts';
import { rmsNorm } from '../../ops/norm.ts';
import { rope, ropeTable } from '../../ops/rope.ts';
import { gatherRows } from '../../ops/rows.ts';
import type { Tensor } from '../../ops/value.ts';
import type { Architecture, LayerInputs, PartScope } from '../architecture.ts';
import { linear } from '../blocks.ts';
import { ConfigReader, type ModelConfig } from '../model-config.ts';

/**
 * Llama 1 to 3, Mistral and what shares their graph: RMS norm before each half, rotated grouped-query attention over a KV
 * cache, a SiLU-gated feed-forward (Touvron et al. 2023; Jiang et al. 2023).
 */
export const llama: Architecture = {
  names: ['llama', 'mistral'],
  configure,
  recordEmbedding,
  recordLayer,
  recordHead,
};

function configure(metadata: GgufMetadata, architecture: string): ModelConfig {
  const read = new ConfigReader(metadata, architecture);
  const experts = metadata.number(`${architecture}.expert_count`) ?? 0;
  if (experts > 0) {
    fail('MODEL_CONFIG', {
      key: `${architecture}.expert_count`,
      found: String(experts),
      expected: '0: no experts',
    });
  }
  const width = read.count('embedding_length');
  const heads = read.count('attention.head_count');
  const keySize = read.count('attention.key_length', width / heads);
  const trainedContext = read.count('context_length');
  return {
    architecture,
    layers: read.count('block_count'),
    width,
    heads,
    kvHeads: read.count('attention.head_count_kv', heads),
    keySize,
    valueSize: read.count('attention.value_length', width / heads),
    hidden: read.count('feed_forward_length'),
    trainedContext,
    normEpsilon: read.real('attention.layer_norm_rms_epsilon'),
    rope: read.rope(read.count('rope.dimension_count', keySize), trainedContext),
    ropePairs: 'interleaved',
    attentionScale: read.real('attention.scale', 1 / Math.sqrt(keySize), true),
    window: metadata.number(`${architecture}.attention.sliding_window`) || undefined,
  };
}

function recordEmbedding(scope: PartScope, ids: Tensor) {
  const { g, config } = scope;
  const table = scope.weight(
    'token_embd.weight',
    scope.rowsOf('token_embd.weight', config.width),
    config.width,
  );
  const factors = scope.optional('rope_freqs.weight', 1, config.rope.dimensions / 2);
  return { x: embed(g, table, ids), shared: new Map([['turns', ropeTable(g, config.rope, factors)]]) };
}

function recordLayer(scope: PartScope, inputs: LayerInputs): Tensor {
  const attended = add(scope.g, inputs.x, recordAttention(scope, inputs));
  return add(scope.g, attended, recordFeedForward(scope, attended));
}

function recordAttention(scope: PartScope, { x, shared, cache }: LayerInputs): Tensor {
  const { g, config } = scope;
  const { heads, kvHeads, keySize, valueSize, ropePairs: pairs } = config;
  const normed = rmsNorm(g, x, scope.weight('attn_norm.weight', 1, config.width), config.normEpsilon);
  const q = linear(scope, normed, { name: 'attn_q', rows: heads * keySize });
  const k = linear(scope, normed, { name: 'attn_k', rows: kvHeads * keySize });
  const v = linear(scope, normed, { name: 'attn_v', rows: kvHeads * valueSize });
  const table = shared.get('turns') as Tensor;
  const turnedQ = rope(g, q, { table, headSize: keySize, pairs });
  kvAppend(g, cache, rope(g, k, { table, headSize: keySize, pairs }), v);
  const mixed = attention(g, turnedQ, cache, {
    heads,
    kvHeads,
    keySize,
    valueSize,
    scale: config.attentionScale,
    window: config.window,
    softCap: undefined,
  });
  return linear(scope, mixed, { name: 'attn_output', rows: config.width });
}

function recordFeedForward(scope: PartScope, x: Tensor): Tensor {
  const { g, config } = scope;
  const normed = rmsNorm(g, x, scope.weight('ffn_norm.weight', 1, config.width), config.normEpsilon);
  const gate = linear(scope, normed, { name: 'ffn_gate', rows: config.hidden, scaleLast: true });
  const up = linear(scope, normed, { name: 'ffn_up', rows: config.hidden, scaleLast: true });
  const hidden = gated(g, 'silu', gate, up);
  return linear(scope, hidden, { name: 'ffn_down', rows: config.width, scaleLast: true });
}

function recordHead(scope: PartScope, x: Tensor): Tensor {
  const { g, config, tensors } = scope;
  const rows = scope.rowsOf('token_embd.weight', config.width);
  const last = gatherRows(g, x);
  const normed = rmsNorm(g, last, scope.weight('output_norm.weight', 1, config.width), config.normEpsilon);
  // Models with tied embeddings have no output matrix of their own.
  const name = tensors.has('output.weight') ? 'output.weight' : 'token_embd.weight';
  return matmul(g, normed, scope.weight(name, rows, config.width));
}
