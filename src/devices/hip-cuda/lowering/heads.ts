import type { Counters, HeadGroup, HeadsAppendIntent, HeadsNormAppendIntent } from '../../../device/index.ts';
import type { MatmulOp, RopeOp } from '../../../ops/index.ts';
import { cacheDefines, cellArgs } from './attention.ts';
import type { Operand } from './launch-plan.ts';
import { float, int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

/** Blocks of `heads-append.hip` beyond which its threads take several values each. */
const MANY_APPENDING_BLOCKS = 8192;
const APPENDED_BY_THREAD = 8;
const APPEND_THREADS = 256;
const NORM_THREADS = 128;

/** Behind what every matrix-vector product takes: how a product of heads rotates and appends what it computes. */
export function appendArgs({ heads, group, zeroed }: HeadGroup): readonly Operand[] {
  const { q, k, rotatedQ, append } = heads;
  const { cache, batch } = append;
  return [
    ...rotationArgs(rotatedQ),
    ...widthsIn(group, [q, k]),
    ...cellArgs(cache, batch),
    cache.keys,
    cache.values,
    ...zeroedArgs(zeroed),
  ];
}

/** Rotates and appends the rows of a product of heads. */
export function emitHeadsAppend({ of, joined, width }: HeadsAppendIntent, to: Lowering): void {
  const { q, k, v, rotatedQ, append } = of.heads;
  const { cache, batch } = append;
  const blocks = to.capacity(q.out) * Math.ceil(width / APPEND_THREADS);
  const each = blocks > MANY_APPENDING_BLOCKS ? APPENDED_BY_THREAD : 1;
  to.launch({
    file: 'heads-append.hip',
    kernel: 'heads_append',
    defines: { ...cacheDefines(cache), VALUES_A_THREAD: each },
    grid: [to.capacity(q.out), Math.ceil(width / APPEND_THREADS / each)],
    block: APPEND_THREADS,
    args: [
      to.count(q.out),
      joined,
      ...rotationArgs(rotatedQ),
      ...widthsIn(of.group, [q, k, v]),
      ...cellArgs(cache, batch),
      rotatedQ.out,
      cache.keys,
      cache.values,
      ...zeroedArgs(of.zeroed),
    ],
  });
}

/** Norms, rotates and appends the rows of products of heads. */
export function emitHeadsNormAppend(
  { heads: of, joined, zeroed }: HeadsNormAppendIntent,
  to: Lowering,
): void {
  const { q, k, append, attention } = of;
  const { cache, batch } = append;
  const { heads, kvHeads, keySize, valueSize } = attention;
  const { table, pairs } = q.rotated;
  const parts = [joined.q, joined.k, joined.v];
  to.launch({
    file: 'heads-norm-append.hip',
    kernel: 'heads_norm_append',
    defines: { ...cacheDefines(cache), HEAD_SIZE: keySize },
    grid: [to.capacity(q.product.out), heads + 2 * kvHeads],
    block: NORM_THREADS,
    args: [
      to.count(q.product.out),
      ...parts.flatMap(({ memory, stride }) => [memory, int(stride)]),
      ...parts.map(({ start }) => int(start)),
      to.weight([q.norm.weight], FLOAT_LAYOUT),
      to.weight([k.norm.weight], FLOAT_LAYOUT),
      float(q.norm.epsilon),
      float(k.norm.epsilon),
      table,
      int(table.width),
      int(pairs === 'interleaved' ? 1 : 0),
      int(keySize),
      int(valueSize),
      int(heads),
      int(kvHeads),
      ...cellArgs(cache, batch),
      q.rotated.out,
      cache.keys,
      cache.values,
      ...zeroedArgs(zeroed),
    ],
  });
}

/** How heads are rotated. */
function rotationArgs({ table, pairs, headSize }: RopeOp): readonly Operand[] {
  return [table, int(table.width), int(pairs === 'interleaved' ? 1 : 0), int(headSize)];
}

/** How wide each product's result is, 0 where the group does not have it. */
function widthsIn(group: readonly MatmulOp[], products: readonly MatmulOp[]): readonly Operand[] {
  return products.map((product) => int(group.includes(product) ? product.out.width : 0));
}

/** Counters to be zeroed, and how many. */
function zeroedArgs(zeroed: Counters | undefined): readonly Operand[] {
  return zeroed ? [zeroed.memory, int(zeroed.count)] : [NULL, int(0)];
}
