import type { HeadGroup, HeadsAppendIntent } from '../../../device/index.ts';
import {
  HEAD_BLOCK_STORES,
  HEAD_STORES,
  STORE_HEADS,
  ROTATE_HEADS,
  ROTATE_NOTHING,
} from '../kernels/head-stores.ts';
import { HEAD_VALUE, HEADS_APPEND, HEADS_APPEND_BLOCKS } from '../kernels/heads-append.ts';
import { GRID } from '../kernels/library/grid.ts';
import { blockTexts, type CacheForm, cacheTexts, PAGED_CACHE } from '../kernels/library/paged-cache.ts';
import { cacheForm, cacheUnit, cellArguments, written } from './attention.ts';
import { read, write } from './launch-plan.ts';
import { lineGrid } from './line-grid.ts';
import type { Lowering } from './lowering.ts';
import type { KernelPart } from './product-input.ts';

/** Constants for rotating and appending, for products of some of queries, keys and values. */
export function headConstants({ heads, widths }: HeadGroup) {
  const { rotation, attention, append } = heads;
  return {
    Q_WIDTH: widths.q,
    K_WIDTH: widths.k,
    V_WIDTH: append.v.width,
    HEAD: attention.keySize,
    ROTARY_DIM: rotation?.table.width ?? 0,
    INTERLEAVED: rotation?.pairs !== 'neox',
  };
}

/** The texts that store keys and values, if there are any. */
function storeTexts(
  type: CacheForm['type'],
  { hasK, hasV }: { hasK: boolean; hasV: boolean },
): readonly string[] {
  if (type === 'f32' || type === 'f16') {
    const stores = [
      hasK ? HEAD_STORES.key : HEAD_STORES.noKey,
      hasV ? HEAD_STORES.value : HEAD_STORES.noValue,
    ];
    return [STORE_HEADS, ...stores, ...cacheTexts(type)];
  }
  const { key, noKey, value, noValue } = HEAD_BLOCK_STORES;
  const caches = [...(hasK ? (['keys'] as const) : []), ...(hasV ? (['values'] as const) : [])];
  return [hasK ? key : noKey, hasV ? value : noValue, 'const UNIT = 1u;', ...blockTexts(...caches)];
}

/** Arguments for rotating and appending: only what the group's products write. */
export function headArguments({ heads, widths }: HeadGroup, to: Lowering): KernelPart {
  const { rotation, attention, append } = heads;
  const { cache, batch } = append;
  const cells = cellArguments(cache, batch, to);
  const [hasQ, hasK, hasV] = [widths.q > 0, widths.k > 0, widths.v > 0];
  const rotated = hasQ || hasK ? rotation : undefined;
  return {
    constants: cells.constants,
    texts: [
      hasQ ? HEAD_STORES.query : HEAD_STORES.noQuery,
      rotated ? ROTATE_HEADS : ROTATE_NOTHING,
      ...(hasK || hasV ? [PAGED_CACHE] : []),
      ...storeTexts(cacheForm(cache).type, { hasK, hasV }),
    ],
    args: {
      ...(rotated ? { table: read(rotated.table) } : {}),
      ...(hasQ ? { y: write(attention.q) } : {}),
      ...(hasK || hasV ? cells.args : {}),
      ...(hasK ? { keys: written(cache.keys, cache) } : {}),
      ...(hasV ? { values: written(cache.values, cache) } : {}),
    },
  };
}

/** Rotates and appends the rows of a product of heads. */
export function emitHeadsAppend({ of, joined, width }: HeadsAppendIntent, to: Lowering): void {
  const { attention, append } = of.heads;
  const isBlocks = append.cache.keys.type === 'q8_0';
  const unit = isBlocks ? 1 : cacheUnit(append.cache);
  const bound = headArguments(of, to);
  const { threads } = to.target;
  to.launch({
    name: 'heads_append',
    texts: [GRID, HEAD_VALUE, isBlocks ? HEADS_APPEND_BLOCKS : HEADS_APPEND, ...bound.texts],
    constants: {
      THREADS: threads,
      COUNT: to.countOf(attention.q),
      WIDTH: width,
      ...headConstants(of),
      ...bound.constants,
    },
    args: { counts: to.counts, joined: read(joined), ...bound.args },
    grid: lineGrid(to, Math.ceil((to.capacity(attention.q) * width) / unit / threads)),
  });
}
