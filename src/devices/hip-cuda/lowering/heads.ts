import type {
  Counters,
  HeadGroup,
  HeadOps,
  HeadsAppendIntent,
  HeadsNormAppendIntent,
} from '../../../device/index.ts';
import { cacheDefines, cellArgs } from './attention.ts';
import type { Operand } from './launch-plan.ts';
import { float, int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

/** Blocks of `heads-append.hip` beyond which its threads process several values each. */
const MANY_APPENDING_BLOCKS = 8192;
const APPENDED_BY_THREAD = 8;
const APPEND_THREADS = 256;
const NORM_THREADS = 128;

/** Additional arguments of a matrix-vector product of heads, which rotates and appends its results. */
export function appendArgs({ heads, widths, zeroed }: HeadGroup): readonly Operand[] {
  const { cache, batch } = heads.append;
  return [
    ...rotationArgs(heads),
    int(widths.q),
    int(widths.k),
    ...cellArgs(cache, batch),
    cache.keys,
    cache.values,
    ...zeroedArgs(zeroed),
  ];
}

/** Rotates and appends the rows of a product of heads. */
export function emitHeadsAppend({ of, joined, width }: HeadsAppendIntent, to: Lowering): void {
  const { attention, append } = of.heads;
  const { cache, batch } = append;
  const { q } = attention;
  const blocks = to.capacity(q) * Math.ceil(width / APPEND_THREADS);
  const each = blocks > MANY_APPENDING_BLOCKS ? APPENDED_BY_THREAD : 1;
  const sums = to.take(joined, 'store');
  to.launch({
    file: 'heads-append.hip',
    kernel: 'heads_append',
    defines: { ...cacheDefines(cache), VALUES_PER_THREAD: each, PIECES: sums?.count ?? 1 },
    grid: [to.capacity(q), Math.ceil(width / APPEND_THREADS / each)],
    block: APPEND_THREADS,
    args: [
      to.count(q),
      sums?.pieces ?? joined,
      int(sums?.apart ?? 0),
      sums?.addend ?? NULL,
      ...rotationArgs(of.heads),
      ...[of.widths.q, of.widths.k, of.widths.v].map(int),
      ...cellArgs(cache, batch),
      q,
      cache.keys,
      cache.values,
      ...zeroedArgs(of.zeroed),
    ],
  });
}

/** Normalizes, rotates and appends the rows of products of heads. */
export function emitHeadsNormAppend(of: HeadsNormAppendIntent, to: Lowering): void {
  const { norms, rotation, joined, zeroed } = of;
  const { append, attention } = of.heads;
  const { cache, batch } = append;
  const { q, heads, kvHeads, keySize, valueSize } = attention;
  const { table, pairs } = rotation;
  const parts = [joined.q, joined.k, joined.v];
  to.launch({
    file: 'heads-norm-append.hip',
    kernel: 'heads_norm_append',
    defines: { ...cacheDefines(cache), HEAD_SIZE: keySize },
    grid: [to.capacity(q), heads + 2 * kvHeads],
    block: NORM_THREADS,
    args: [
      to.count(q),
      ...parts.flatMap(({ memory, stride }) => [memory, int(stride)]),
      ...parts.map(({ start }) => int(start)),
      to.weight([norms.q.weight], FLOAT_LAYOUT),
      to.weight([norms.k.weight], FLOAT_LAYOUT),
      float(norms.q.epsilon),
      float(norms.k.epsilon),
      table,
      int(table.width),
      int(pairs === 'interleaved' ? 1 : 0),
      int(keySize),
      int(valueSize),
      int(heads),
      int(kvHeads),
      ...cellArgs(cache, batch),
      q,
      cache.keys,
      cache.values,
      ...zeroedArgs(zeroed),
    ],
  });
}

/** The rotation of heads: none if the table has width 0. */
function rotationArgs({ rotation, attention }: HeadOps): readonly Operand[] {
  if (!rotation) return [NULL, int(0), int(1), int(attention.keySize)];
  const { table, pairs, headSize } = rotation;
  return [table, int(table.width), int(pairs === 'interleaved' ? 1 : 0), int(headSize)];
}

/** Counters to be zeroed, and how many. */
function zeroedArgs(zeroed: Counters | undefined): readonly Operand[] {
  return zeroed ? [zeroed.memory, int(zeroed.count)] : [NULL, int(0)];
}
