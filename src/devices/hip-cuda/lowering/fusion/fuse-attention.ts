import {
  formatGroups,
  type Fusion,
  type GraphUses,
  type HeadOps,
  matchHeads,
} from '../../../../device/index.ts';
import type { MatmulOp, Op, RopeOp } from '../../../../ops/index.ts';
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

/** Weights of different formats are laid out in the same groups for few rows and many: else a model's would be stored twice. */
function launchHeads(to: Lowering, heads: HeadOps, uses: GraphUses): void {
  const { q, k, v, attention } = heads;
  const mixing = planMixing(attention, uses, to);
  const launch = appendsInProducts(heads, to) ? launchAppending : launchJoined;
  formatGroups([q, k, v]).forEach((group, i) => {
    launch(to, heads, { group, zeroed: i === 0 ? mixing.zeroed : [NULL, int(0)] });
  });
  mixing.launch();
}

/** Neighbours among queries, keys and values that have one format, and the counters that their launch has to zero. */
interface HeadGroup {
  readonly group: readonly MatmulOp[];
  readonly zeroed: readonly Operand[];
}

/** One product, then what turns and appends its rows. */
function launchJoined(to: Lowering, heads: HeadOps, { group, zeroed }: HeadGroup): void {
  const { q, k, v, turnedQ, append } = heads;
  const { cache, batch } = append;
  const weights = joinedWeights(to, group);
  const width = weights.outputs;
  const joined = to.temporary(4 * to.capacity(q.out) * width);
  const product = { ...weights, x: q.x, output: 'floats', y: joined } as const;
  if (isMatvec(q, to)) launchMatvec(to, product);
  else launchProduct(to, product);
  const blocks = to.capacity(q.out) * Math.ceil(width / 256);
  const each = blocks > MANY_APPENDING_BLOCKS ? APPENDED_BY_THREAD : 1;
  to.launch({
    file: 'heads-append.hip',
    kernel: 'heads_append',
    defines: { ...cacheDefines(cache), VALUES_A_THREAD: each },
    grid: [to.capacity(q.out), Math.ceil(width / 256 / each)],
    block: 256,
    args: [
      to.count(q.out),
      joined,
      ...turnArgs(turnedQ),
      ...widthsIn(group, [q, k, v]),
      ...cellArgs(cache, batch),
      turnedQ.out,
      cache.keys,
      cache.values,
      ...zeroed,
    ],
  });
}

/** One matrix-vector product that turns and appends what it computes. */
function launchAppending(to: Lowering, heads: HeadOps, { group, zeroed }: HeadGroup): void {
  const { q, k, turnedQ, append } = heads;
  const { cache, batch } = append;
  launchMatvec(to, {
    ...joinedWeights(to, group),
    x: q.x,
    output: 'heads',
    y: turnedQ.out,
    defines: cacheDefines(cache),
    args: [
      ...turnArgs(turnedQ),
      ...widthsIn(group, [q, k]),
      ...cellArgs(cache, batch),
      cache.keys,
      cache.values,
      ...zeroed,
    ],
  });
}

/** The group's weights, one below the other, and their biases. */
function joinedWeights(to: Lowering, group: readonly MatmulOp[]) {
  const biases = group.flatMap(({ bias }) => (bias ? [bias] : []));
  return {
    weights: group.map(({ weight }) => weight),
    outputs: group.reduce((sum, { weight }) => sum + weight.rows, 0),
    ...(biases.length > 0 ? { addend: to.weight(biases, FLOAT_LAYOUT) } : {}),
  };
}

/** How heads are turned. */
function turnArgs({ table, pairs, headSize }: RopeOp): readonly Operand[] {
  return [table, int(table.width), int(pairs === 'interleaved' ? 1 : 0), int(headSize)];
}

/** How wide each product's result is, 0 where the group does not have it. */
function widthsIn(group: readonly MatmulOp[], products: readonly MatmulOp[]): readonly Operand[] {
  return products.map((product) => int(group.includes(product) ? product.out.width : 0));
}
