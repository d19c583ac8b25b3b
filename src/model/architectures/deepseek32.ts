import type { GgufValue } from '../../gguf/index.ts';
import type { Architecture } from '../architecture.ts';
import { type IndexerSpec, readIndexer } from '../blocks/indexer.ts';
import type { ConfigReader } from '../config-reader.ts';
import { ROPE } from '../stacks/decoder.ts';
import { count, flags, OUTPUT, type SyntheticShape } from '../synthetic-family.ts';
import { configureLatents, deepseekMetadata, rotatedByBoth } from './deepseek2.ts';

/** DeepSeek V3.2: DeepSeek V3 whose rows attend to the positions that an indexer chooses (DeepSeek-AI 2025). */
export const deepseek32: Architecture = {
  names: ['deepseek32'],
  configure(read) {
    const indexer = specOf(read, { pairs: 'neox', shares: false });
    return configureLatents(read, {
      gate: 'sigmoid',
      rotated: rotatedByBoth,
      scales: true,
      indexer: () => indexer,
    });
  },
  synthetic: { metadata: sparseMetadata, optional: [OUTPUT, 'exp_probs_b.bias'] },
};

/** GLM 5 to 5.2: the same, and in some layers the choice of an earlier one (Z.ai 2026). */
export const glmDsa: Architecture = {
  names: ['glm-dsa'],
  configure(read) {
    const own = specOf(read, { pairs: 'interleaved', shares: true });
    const layers = read.count('block_count') - read.countOrZero('nextn_predict_layers');
    const key = 'attention.indexer.types';
    const chooses = read.layerFlags(key, layers) ?? usualTypes(read);
    if (!chooses(0)) read.refuse(key, 'false', 'true for the first layer');
    return configureLatents(read, {
      gate: 'sigmoid',
      rotated: rotatedByBoth,
      scales: true,
      indexer: (layer) => (chooses(layer) ? own : 'earlier'),
    });
  },
  synthetic: {
    metadata: (shape) => ({
      ...withoutScaling(sparseMetadata(shape)),
      'attention.indexer.types': flags(shape.layers, (layer) => layer % 2 === 0),
    }),
    optional: [OUTPUT, 'exp_probs_b.bias'],
  },
};

/** Metadata of a RoPE that is not scaled, as published. */
function withoutScaling(metadata: Readonly<Record<string, GgufValue>>): Record<string, GgufValue> {
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => !key.startsWith('rope.scaling.')));
}

/** From this context length on, files that do not say which layers choose positions are GLM 5.2's. */
const CONTEXT_OF_GLM_52 = 1_048_576;
/** In GLM 5.2, the first layers and then the first of each period choose. */
const CHOOSING_AT_FIRST = 2;
const PERIOD = 4;

/** Which layers choose positions if the file does not say so. */
function usualTypes(read: ConfigReader): (layer: number) => boolean {
  if (read.count('context_length') < CONTEXT_OF_GLM_52) return () => true;
  return (layer) => layer < CHOOSING_AT_FIRST || (layer - CHOOSING_AT_FIRST) % PERIOD === 0;
}

function specOf(
  read: ConfigReader,
  { pairs, shares }: Pick<IndexerSpec, 'shares'> & Pick<IndexerSpec['rope'], 'pairs'>,
): IndexerSpec {
  const rotated = read.count('rope.dimension_count');
  return { ...readIndexer(read, rotated), rope: { table: ROPE, pairs }, shares };
}

/** DeepSeek V3.2's sizes, or small ones for small shapes, so that a short text has more positions than are chosen. */
function sparseMetadata(shape: SyntheticShape): Record<string, GgufValue> {
  const isSmall = shape.width < 1024;
  return {
    ...deepseekMetadata(shape),
    'attention.indexer.head_count': count(isSmall ? 8 : 64),
    // llama.cpp rotates them by matrices of 64 values or more.
    'attention.indexer.key_length': count(isSmall ? 64 : 128),
    'attention.indexer.top_k': count(isSmall ? 8 : 2048),
  };
}
