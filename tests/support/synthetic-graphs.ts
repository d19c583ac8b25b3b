import { F32, type TensorFormat } from '../../src/formats/index.ts';
import type { TensorInfo } from '../../src/gguf/index.ts';
import { MemorySource } from '../../src/io/index.ts';
import { llama } from '../../src/model/architectures/llama.ts';
import type { ModelConfig } from '../../src/model/model-config.ts';
import { type GraphOptions, type ModelGraphs, recordModel } from '../../src/model/model-graphs.ts';
import type { SyntheticShape } from '../../src/model/synthetic/shapes.ts';

/** The graphs of a model of these tensors, which no file holds. */
export function syntheticGraphs(
  shape: SyntheticShape,
  tensors: ReadonlyMap<string, TensorInfo>,
  options: GraphOptions,
): ModelGraphs {
  return recordModel(llama, configOf(shape), tensors, options);
}

function configOf(shape: SyntheticShape): ModelConfig {
  const size = shape.width / shape.heads;
  return {
    architecture: 'llama',
    layers: shape.layers,
    width: shape.width,
    heads: shape.heads,
    kvHeads: shape.kvHeads,
    keySize: size,
    valueSize: size,
    hidden: shape.hidden,
    trainedContext: shape.context,
    normEpsilon: 1e-5,
    rope: { dimensions: size, base: shape.ropeBase, scaling: { kind: 'none' } },
    ropePairs: 'interleaved',
    attentionScale: 1 / Math.sqrt(size),
    window: undefined,
  };
}

/** The tensors of a model, without a file: nothing can be loaded. */
export function syntheticTensors(shape: SyntheticShape, format: TensorFormat): Map<string, TensorInfo> {
  const source = new MemorySource(new Uint8Array(0), 'nothing');
  const tensors = new Map<string, TensorInfo>();
  const put = (name: string, stored: TensorFormat, ...dimensions: number[]) => {
    const elementCount = dimensions.reduce((product, count) => product * count, 1);
    const byteLength = (elementCount / stored.blockElements) * stored.blockBytes;
    tensors.set(name, {
      name,
      format: stored,
      shape: dimensions,
      elementCount,
      byteLength,
      offset: 0,
      source,
    });
  };
  const keys = (shape.width / shape.heads) * shape.kvHeads;
  put('token_embd.weight', format, shape.width, shape.vocabulary);
  put('output_norm.weight', F32, shape.width);
  put('output.weight', format, shape.width, shape.vocabulary);
  for (let layer = 0; layer < shape.layers; layer++) {
    const name = (part: string) => `blk.${layer}.${part}.weight`;
    put(name('attn_norm'), F32, shape.width);
    put(name('ffn_norm'), F32, shape.width);
    put(name('attn_q'), format, shape.width, shape.width);
    put(name('attn_k'), format, shape.width, keys);
    put(name('attn_v'), format, shape.width, keys);
    put(name('attn_output'), format, shape.width, shape.width);
    put(name('ffn_gate'), format, shape.width, shape.hidden);
    put(name('ffn_up'), format, shape.width, shape.hidden);
    put(name('ffn_down'), format, shape.hidden, shape.width);
  }
  return tensors;
}
