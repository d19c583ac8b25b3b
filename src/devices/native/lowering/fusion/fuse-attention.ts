import {
  formatGroups,
  type Fusion,
  type GraphUses,
  type HeadOps,
  matchHeads,
} from '../../../../device/index.ts';
import type { MatmulOp, Op, Tensor } from '../../../../ops/index.ts';
import { cacheDefines, cellArgs } from '../attention.ts';
import type { Operand } from '../launch-plan.ts';
import { int, NULL } from '../launch-template.ts';
import type { Lowering } from '../lowering.ts';
import { launchMatvec } from '../matvec.ts';
import { isInteger, isMatvec } from '../matvec-shape.ts';
import { launchProduct } from '../product.ts';
import { FLOAT_LAYOUT } from '../weight-layout.ts';
import { planMixing } from './plan-mixing.ts';

const OUTPUTS_A_BLOCK = 32;
/** Blocks of `heads-append.hip` beyond which its threads take several values each. */
const MANY_APPENDING_BLOCKS = 8192;
const APPENDED_BY_THREAD = 8;

/**
 * Queries, keys and values as one product (one each for weights of different formats) that turns them and appends to the
 * cache, then attention, its result quantized where an integer product reads it next.
 */
export function fuseAttention(op: Op, uses: GraphUses, to: Lowering): Fusion | undefined {
  if (op.kind !== 'attention') return undefined;
  const found = matchHeads(op, uses);
  if (!found || !fits(found)) return undefined;
  const { q, k, v } = found;
  if (!appendsInProducts(found, to) && formatGroups([q, k, v]).length > 1) return undefined;
  return { ops: Object.values(found), emit: () => launchHeads(to, found, uses) };
}

/**
 * True where single products turn and append what they compute. The blocks of a quantized cache must be whole in a thread block,
 * which they are not where it has pieces of two halves of a head.
 */
function appendsInProducts({ q, turnedQ, append }: HeadOps, to: Lowering): boolean {
  return isMatvec(q, to) && (append.cache.keys.type !== 'q8_0' || turnedQ.pairs === 'interleaved');
}

function fits({ q, k, v, turnedQ }: HeadOps): boolean {
  const { pairs, table, headSize } = turnedQ;
  const whole = pairs === 'interleaved' || (table.width === headSize && headSize % OUTPUTS_A_BLOCK === 0);
  const widths = [q, k, v].every((product) => product.out.width % OUTPUTS_A_BLOCK === 0);
  return whole && widths && [q, k, v].every(isInteger);
}

function launchHeads(to: Lowering, heads: HeadOps, uses: GraphUses): void {
  const mixing = planMixing(heads.attention, uses, to);
  const { zeroed } = mixing;
  if (appendsInProducts(heads, to)) {
    formatGroups([heads.q, heads.k, heads.v]).forEach((group, i) => {
      launchGroup(to, heads, group, i === 0 ? zeroed : [NULL, int(0)]);
    });
  } else launchJoined(to, heads, zeroed);
  mixing.launch();
}

/** One product, then what turns and appends its rows. */
function launchJoined(to: Lowering, { q, k, v, turnedQ, append }: HeadOps, zeroed: readonly Operand[]): void {
  const { cache, batch } = append;
  const width = q.out.width + k.out.width + v.out.width;
  const joined = to.temporary(4 * to.capacity(q.out) * width);
  const blocks = to.capacity(q.out) * Math.ceil(width / 256);
  const each = blocks > MANY_APPENDING_BLOCKS ? APPENDED_BY_THREAD : 1;
  const biases = [q, k, v].flatMap(({ bias }) => (bias ? [bias] : []));
  const product = {
    x: q.x,
    weights: [q.weight, k.weight, v.weight],
    outputs: width,
    output: 'floats' as const,
    y: joined,
    ...(biases.length > 0 ? { addend: to.weight(biases, FLOAT_LAYOUT) } : {}),
  };
  if (isMatvec(q, to)) launchMatvec(to, product);
  else launchProduct(to, product);
  to.launch({
    file: 'heads-append.hip',
    kernel: 'heads_append',
    defines: { ...cacheDefines(cache), VALUES_A_THREAD: each },
    grid: [to.capacity(q.out), Math.ceil(width / 256 / each)],
    block: 256,
    args: [
      to.count(q.out),
      joined,
      turnedQ.table,
      int(turnedQ.table.width),
      int(turnedQ.pairs === 'interleaved' ? 1 : 0),
      int(turnedQ.headSize),
      int(q.out.width),
      int(k.out.width),
      int(v.out.width),
      ...cellArgs(cache, batch),
      turnedQ.out,
      cache.keys,
      cache.values,
      ...zeroed,
    ],
  });
}

function launchGroup(
  to: Lowering,
  heads: HeadOps,
  group: readonly MatmulOp[],
  zeroed: readonly Operand[],
): void {
  const { q, k, turnedQ, append } = heads;
  const { cache, batch } = append;
  const widthOf = (product: MatmulOp) => (group.includes(product) ? product.out.width : 0);
  const biases = group.flatMap(({ bias }) => (bias ? [bias] : []));
  launchMatvec(to, {
    x: q.x,
    weights: group.map(({ weight }) => weight),
    outputs: group.reduce((sum, { weight }) => sum + weight.rows, 0),
    output: 'heads',
    y: turnedQ.out as Tensor,
    ...(biases.length > 0 ? { addend: to.weight(biases, FLOAT_LAYOUT) } : {}),
    defines: cacheDefines(cache),
    args: [
      turnedQ.table,
      int(turnedQ.table.width),
      int(turnedQ.pairs === 'interleaved' ? 1 : 0),
      int(turnedQ.headSize),
      int(widthOf(q)),
      int(widthOf(k)),
      ...cellArgs(cache, batch),
      cache.keys,
      cache.values,
      ...zeroed,
    ],
  });
}
