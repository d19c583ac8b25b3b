import type { HeadsNormAppendIntent, JoinedRows } from '../../../device/index.ts';
import { HEAD_BLOCK_STORES, HEAD_STORES, ROTATE_HEADS } from '../kernels/head-stores.ts';
import { headsNormAppendTexts } from '../kernels/heads-norm-append.ts';
import { blockTexts, type CacheForm, cacheTexts, PAGED_CACHE } from '../kernels/library/paged-cache.ts';
import { reduceText } from '../kernels/library/reduce.ts';
import type { Constant } from '../launching/kernel-module.ts';
import { cacheForm, cacheUnit, cellArguments, written } from './attention.ts';
import { read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

const THREADS = 128;
const TEAM = 32;

/** Normalizes and rotates query and key heads, and appends keys and values to the cache: one launch. */
export function emitHeadsNormAppend(of: HeadsNormAppendIntent, to: Lowering): void {
  const { joined, norms, rotation } = of;
  const { append, attention } = of.heads;
  const { cache, batch } = append;
  const { heads, kvHeads, keySize, valueSize } = attention;
  const { q } = attention;
  const { type } = cacheForm(cache);
  cacheUnit(cache, keySize, valueSize);
  const memories = [...new Set([joined.q.memory, joined.k.memory, joined.v.memory])];
  const nameOf = ({ memory }: JoinedRows) => `rows_${memories.indexOf(memory)}`;
  const names = { q: nameOf(joined.q), k: nameOf(joined.k), v: nameOf(joined.v) };
  const cells = cellArguments(cache, batch, to);
  to.launch({
    name: 'heads_norm_append',
    texts: [
      ...headsNormAppendTexts(names, type === 'q8_0' ? 'blocks' : 'words'),
      reduceText(to.target, { team: TEAM, threads: THREADS }),
      ROTATE_HEADS,
      PAGED_CACHE,
      ...storeTexts(type),
    ],
    constants: {
      THREADS,
      COUNT: to.countOf(q),
      ...headConstants(of),
      ...placeConstants('Q', joined.q),
      ...placeConstants('K', joined.k),
      ...placeConstants('V', joined.v),
      ...cells.constants,
    },
    args: {
      counts: to.counts,
      ...Object.fromEntries(memories.map((memory, i) => [`rows_${i}`, read(memory)])),
      norm_weight: to.vectors([norms.q.weight, norms.k.weight], FLOAT_LAYOUT),
      table: read(rotation.table),
      ...cells.args,
      y: write(q),
      keys: written(cache.keys, cache),
      values: written(cache.values, cache),
    },
    grid: [to.capacity(q), Math.ceil((heads + 2 * kvHeads) / (THREADS / TEAM))],
  });
}

function storeTexts(type: CacheForm['type']): readonly string[] {
  if (type === 'f32' || type === 'f16')
    return [HEAD_STORES.query, HEAD_STORES.key, HEAD_STORES.value, ...cacheTexts(type)];
  const { key, value } = HEAD_BLOCK_STORES;
  return [HEAD_STORES.query, key, value, 'const UNIT = 1u;', ...blockTexts('keys', 'values')];
}

function headConstants({ heads: of, norms, rotation }: HeadsNormAppendIntent): Record<string, Constant> {
  const { heads, kvHeads, keySize, valueSize } = of.attention;
  const { table, pairs } = rotation;
  return {
    HEADS: heads,
    KV_HEADS: kvHeads,
    HEAD: keySize,
    VALUE: valueSize,
    Q_WIDTH: heads * keySize,
    K_WIDTH: kvHeads * keySize,
    V_WIDTH: kvHeads * valueSize,
    Q_EPSILON: { f32: norms.q.epsilon },
    K_EPSILON: { f32: norms.k.epsilon },
    ROTARY_DIM: table.width,
    INTERLEAVED: pairs === 'interleaved',
  };
}

function placeConstants(name: string, { stride, start }: JoinedRows): Record<string, number> {
  return { [`${name}_STRIDE`]: stride, [`${name}_START`]: start };
}
