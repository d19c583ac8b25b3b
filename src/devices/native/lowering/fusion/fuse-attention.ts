import type { AttentionOp, KvAppendOp, MatmulOp, Op, RopeOp, Tensor } from '../../../../ops/index.ts';
import { cacheDefines } from '../attention.ts';
import type { Operand } from '../launch-plan.ts';
import { int, NULL } from '../launch-template.ts';
import type { Lowering } from '../lowering.ts';
import { launchMatvec } from '../matvec.ts';
import { isInteger, isMatvec } from '../matvec-shape.ts';
import { launchProduct } from '../product.ts';
import { FLOAT_LAYOUT } from '../weight-layout.ts';
import type { Fusion } from './fusion.ts';
import type { GraphUses } from './graph-uses.ts';
import { planMixing } from './plan-mixing.ts';

const OUTPUTS_A_BLOCK = 32;
/** Blocks of `heads-append.hip` beyond which its threads take several values each. */
const MANY_APPENDING_BLOCKS = 8192;
const APPENDED_BY_THREAD = 8;

/** The operators from the normed activations to the mixed heads. */
interface HeadOps {
  readonly q: MatmulOp;
  readonly k: MatmulOp;
  readonly v: MatmulOp;
  readonly turnedQ: RopeOp;
  readonly turnedK: RopeOp;
  readonly append: KvAppendOp;
  readonly attention: AttentionOp;
}

/**
 * Queries, keys and values as one product (one each for weights of different formats) that turns them and appends to the
 * cache, then attention, its result quantized where an integer product reads it next.
 */
export function fuseAttention(op: Op, uses: GraphUses, to: Lowering): Fusion | undefined {
  if (op.kind !== 'attention') return undefined;
  const found = findHeads(op, uses);
  if (!found || !fits(found, uses)) return undefined;
  if (!isMatvec(found.q, to) && groupsOf(found).length > 1) return undefined;
  return { ops: Object.values(found), emit: () => launchHeads(to, found, uses) };
}

function findHeads(attention: AttentionOp, uses: GraphUses): HeadOps | undefined {
  const turnedQ = uses.producer(attention.q);
  if (turnedQ?.kind !== 'rope') return undefined;
  const q = uses.producer(turnedQ.x);
  if (q?.kind !== 'matmul') return undefined;
  for (const reader of uses.readers(q.x)) {
    if (reader.kind !== 'matmul' || reader === q) continue;
    const turnedK = uses.onlyReader(reader.out);
    if (turnedK?.kind !== 'rope') continue;
    const append = uses.onlyReader(turnedK.out);
    if (append?.kind !== 'kvAppend' || append.cache.keys !== attention.cache.keys) continue;
    const v = uses.producer(append.v);
    if (v?.kind !== 'matmul' || v.x !== q.x || append.k !== turnedK.out) continue;
    return { q, k: reader, v, turnedQ, turnedK, append, attention };
  }
  return undefined;
}

function fits({ q, k, v, turnedQ, turnedK, append, attention }: HeadOps, uses: GraphUses) {
  const alone =
    uses.onlyReader(q.out) === turnedQ &&
    uses.onlyReader(turnedQ.out) === attention &&
    uses.onlyReader(v.out) === append;
  const alike =
    turnedQ.table === turnedK.table &&
    turnedQ.headSize === turnedK.headSize &&
    turnedQ.pairs === turnedK.pairs;
  const whole =
    turnedQ.pairs === 'interleaved' ||
    (turnedQ.table.width === turnedQ.headSize && turnedQ.headSize % OUTPUTS_A_BLOCK === 0);
  const ordered = uses.place(append) < uses.place(attention);
  const widths = [q, k, v].every((product) => product.out.width % OUTPUTS_A_BLOCK === 0);
  const biases = [q, k, v].filter((product) => product.bias).length;
  const products = [q, k, v].every(isInteger);
  return alone && alike && whole && ordered && widths && products && (biases === 0 || biases === 3);
}

/** Neighbours among queries, keys and values whose weights have one format. */
function groupsOf({ q, k, v }: HeadOps): MatmulOp[][] {
  const groups: MatmulOp[][] = [];
  for (const product of [q, k, v]) {
    const last = groups.at(-1);
    if (last?.[0]?.weight.format === product.weight.format) last.push(product);
    else groups.push([product]);
  }
  return groups;
}

function launchHeads(to: Lowering, heads: HeadOps, uses: GraphUses): void {
  const mixing = planMixing(heads.attention, uses, to);
  const { zeroed } = mixing;
  if (isMatvec(heads.q, to)) {
    groupsOf(heads).forEach((group, i) => {
      launchGroup(to, heads, group, i === 0 ? zeroed : [NULL, int(0)]);
    });
  } else launchJoined(to, heads, zeroed);
  mixing.launch();
}

/** One product on the matrix cores, then what turns and appends its rows. */
function launchJoined(to: Lowering, { q, k, v, turnedQ, append }: HeadOps, zeroed: readonly Operand[]): void {
  const { cache, batch } = append;
  const width = q.out.width + k.out.width + v.out.width;
  const joined = to.temporary(4 * to.capacity(q.out) * width);
  const blocks = to.capacity(q.out) * Math.ceil(width / 256);
  const each = blocks > MANY_APPENDING_BLOCKS ? APPENDED_BY_THREAD : 1;
  const biases = [q, k, v].flatMap(({ bias }) => (bias ? [bias] : []));
  launchProduct(to, {
    x: q.x,
    weights: [q.weight, k.weight, v.weight],
    outputs: width,
    output: 'floats',
    y: joined,
    ...(biases.length > 0 ? { addend: to.weight(biases, FLOAT_LAYOUT) } : {}),
  });
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
      batch.slots,
      batch.positions,
      batch.blocks,
      int(batch.blocks.width),
      int(cache.blockSize),
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
      batch.slots,
      batch.positions,
      batch.blocks,
      int(batch.blocks.width),
      int(cache.blockSize),
      cache.keys,
      cache.values,
      ...zeroed,
    ],
  });
}
