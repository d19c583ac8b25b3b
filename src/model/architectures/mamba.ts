import type { GgufValue } from '../../gguf/index.ts';
import type { Architecture } from '../architecture.ts';
import type { Block } from '../blocks/block.ts';
import { mamba as mambaBlock, readMamba } from '../blocks/mamba.ts';
import { mamba2 as mamba2Block, readMamba2 } from '../blocks/mamba2.ts';
import type { Norm } from '../blocks/norm.ts';
import type { ConfigReader } from '../config-reader.ts';
import { groupsOf, type LayerSpec, type ModelConfig } from '../model-config.ts';
import { count, OUTPUT, type SyntheticShape } from '../synthetic-family.ts';

/** Optional tensors of Mamba-2 blocks that a synthetic model has. */
export const MAMBA2_OPTIONAL: readonly string[] = ['ssm_conv1d.bias', 'ssm_norm.weight'];

/** Metadata of attention and feed-forward, which these layers lack. */
const WITHOUT_HALVES = { 'attention.head_count': count(0), feed_forward_length: count(0) };

/** Mamba (Gu & Dao 2023) and FalconMamba, which normalizes `dt`, `b` and `c`: layers of one block, without attention. */
export const mamba: Architecture = {
  names: ['mamba'],
  configure(read) {
    const norm = readNorm(read);
    const inputNorm = read.flag('ssm.dt_b_c_rms', false) && { inputNorm: { norm, weights: false } };
    return stack(read, norm, mambaBlock({ ...readMamba(read), ...inputNorm }));
  },
  synthetic: { metadata: (shape) => ({ ...WITHOUT_HALVES, ...mambaMetadata(shape) }), optional: [OUTPUT] },
};

/** Mamba-2 (Dao & Gu 2024), Codestral Mamba among others. */
export const mamba2: Architecture = {
  names: ['mamba2'],
  configure(read) {
    const norm = readNorm(read);
    return stack(read, norm, mamba2Block({ ...readMamba2(read), norm }));
  },
  synthetic: {
    metadata: (shape) => ({ ...WITHOUT_HALVES, ...mamba2Metadata(shape) }),
    optional: [OUTPUT, ...MAMBA2_OPTIONAL],
  },
};

function readNorm(read: ConfigReader): Norm & { kind: 'rms' } {
  return { kind: 'rms', epsilon: read.real('attention.layer_norm_rms_epsilon') };
}

function stack(read: ConfigReader, norm: Norm, block: Block): ModelConfig {
  const layer: LayerSpec = { sublayers: [{ preNorm: { ...norm, name: 'attn_norm' }, block }] };
  const layers = Array.from({ length: read.count('block_count') }, () => layer);
  return {
    architecture: read.architecture,
    state: groupsOf(layers),
    width: read.count('embedding_length'),
    trainedContext: read.count('context_length'),
    embedding: {},
    layers,
    head: { kind: 'logits', norm: { ...norm, name: 'output_norm' } },
  };
}

/** Metadata of a synthetic model's Mamba blocks, with the published models' proportions. */
export function mambaMetadata({ width }: SyntheticShape): Record<string, GgufValue> {
  return {
    'ssm.conv_kernel': count(4),
    'ssm.inner_size': count(2 * width),
    'ssm.state_size': count(16),
    'ssm.time_step_rank': count(Math.max(4, Math.ceil(width / 16))),
  };
}

/** Metadata of a synthetic model's Mamba-2 blocks, with the published models' proportions. */
export function mamba2Metadata({ width, heads }: SyntheticShape): Record<string, GgufValue> {
  return {
    'ssm.conv_kernel': count(4),
    'ssm.inner_size': count(2 * width),
    'ssm.state_size': count(width < 1024 ? 16 : 128),
    'ssm.time_step_rank': count(heads),
    'ssm.group_count': count(heads / 2),
  };
}
