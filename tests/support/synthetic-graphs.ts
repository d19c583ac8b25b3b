import { ConfigReader } from '../../src/model/config-reader.ts';
import type { TensorFormat } from '../../src/formats/index.ts';
import { GgufFile, GgufWriter, type TensorInfo } from '../../src/gguf/index.ts';
import { MemorySink, MemorySource } from '../../src/io/index.ts';
import { type Architecture, architectureOf } from '../../src/model/architecture.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import type { ModelConfig } from '../../src/model/model-config.ts';
import { type GraphOptions, type ModelGraphs, recordModel } from '../../src/model/model-graphs.ts';
import type { SyntheticShape } from '../../src/model/synthetic-family.ts';
import { syntheticPlan } from '../../src/model/synthetic/synthetic-plan.ts';

/** A model without a file: its weights cannot be loaded. */
export interface SyntheticModel {
  readonly architecture: Architecture;
  readonly config: ModelConfig;
  readonly metadata: GgufFile['metadata'];
  readonly tensors: ReadonlyMap<string, TensorInfo>;
}

/** The model that `rocmforge synth` would write in this shape, optionally with another format for the value weights. */
export async function syntheticModel(
  shape: SyntheticShape,
  format: TensorFormat,
  values: TensorFormat = format,
): Promise<SyntheticModel> {
  // A large vocabulary has many pieces, which nothing here reads.
  const plan = await syntheticPlan('synthetic', { ...shape, vocabulary: 64 }, { format });
  const sink = new MemorySink();
  await GgufWriter.begin(sink, { ...plan, tensors: [] });
  await using header = await GgufFile.open(new MemorySource(sink.bytes(), 'synthetic'));
  const architecture = architectureOf(header.metadata, ALL_ARCHITECTURES);
  const config = architecture.configure(new ConfigReader(header.metadata, shape.architecture));
  const source = new MemorySource(new Uint8Array(0), 'nothing');
  const tensors = plan.tensors.map(({ name, format: planned, shape: plannedShape }): TensorInfo => {
    const stored = name.endsWith('attn_v.weight') ? values : planned;
    const ofVocabulary = /^(token_embd|output)\.(weight|bias)$/.exec(name);
    const row = ofVocabulary?.[2] === 'weight' ? [shape.width] : [];
    const dimensions = ofVocabulary ? [...row, shape.vocabulary] : plannedShape;
    const elementCount = dimensions.reduce((product, count) => product * count, 1);
    const byteLength = (elementCount / stored.blockElements) * stored.blockBytes;
    return { name, format: stored, shape: dimensions, elementCount, byteLength, offset: 0, source };
  });
  const { metadata } = header;
  return { architecture, config, metadata, tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])) };
}

/** Its graphs, with this many blocks for each group of its state. */
export function syntheticGraphs(
  { config, tensors }: SyntheticModel,
  { blocks, ...options }: Omit<GraphOptions, 'groups'> & { blocks: number },
): ModelGraphs {
  const groups = config.state.map((group) => ({ ...group, blocks }));
  return recordModel(config, tensors, { ...options, groups });
}
