import type { OpCase } from '../op-case.ts';
import { ATTENTION_CASES } from './attention.ts';
import { CACHE_TYPE_CASES } from './cache-types.ts';
import { COMPRESSED_CELLS_CASES } from './compressed-cells.ts';
import { DELTA_LAYER_CASES } from './delta-layer.ts';
import { ELEMENTWISE_CASES } from './elementwise.ts';
import { EMBED_CASES } from './embed.ts';
import { EXPERT_CASES } from './experts.ts';
import { LAYER_CASES } from './layer.ts';
import { LOW_RANK_CASES } from './low-rank.ts';
import { MATMUL_CASES } from './matmul.ts';
import { NORM_CASES } from './norm.ts';
import { RECURRENCE_CASES } from './recurrence.ts';
import { ROPE_CASES } from './rope.ts';
import { ROWS_CASES } from './rows.ts';
import { RWKV_LAYER_CASES } from './rwkv-layer.ts';
import { SAMPLE_CASES } from './sample.ts';
import { SPARSE_ATTENTION_CASES } from './sparse-attention.ts';
import { STATE_SPACE_CASES } from './state-space.ts';
import { namedLike } from '../../named.ts';

/** All cases, by operator. */
export const ALL_CASES: readonly OpCase[] = [
  ...EMBED_CASES,
  ...MATMUL_CASES,
  ...ELEMENTWISE_CASES,
  ...NORM_CASES,
  ...ROPE_CASES,
  ...ROWS_CASES,
  ...ATTENTION_CASES,
  ...SPARSE_ATTENTION_CASES,
  ...COMPRESSED_CELLS_CASES,
  ...CACHE_TYPE_CASES,
  ...RECURRENCE_CASES,
  ...STATE_SPACE_CASES,
  ...SAMPLE_CASES,
  ...EXPERT_CASES,
  ...LAYER_CASES,
  ...LOW_RANK_CASES,
  ...RWKV_LAYER_CASES,
  ...DELTA_LAYER_CASES,
];

/** Cases with weights that arrive in pieces: every format, and layers, whose weights a device may merge. */
export const PACKING_CASES: readonly OpCase[] = [
  ...namedLike(MATMUL_CASES, /37 x 512/),
  ...namedLike(LAYER_CASES, /^llama layer, .* 17 rows$/),
];
