import { formatGroups, type Fusion, type GraphUses } from '../../../../device/index.ts';
import type {
  AttentionOp,
  KvAppendOp,
  MatmulOp,
  Op,
  RmsNormOp,
  RopeOp,
  Tensor,
} from '../../../../ops/index.ts';
import { cacheDefines, cellArgs } from '../attention.ts';
import type { Operand } from '../launch-plan.ts';
import { float, int } from '../launch-template.ts';
import type { Lowering } from '../lowering.ts';
import { launchMatvec } from '../matvec.ts';
import { isInteger, isMatvec } from '../matvec-shape.ts';
import { launchProduct } from '../product.ts';
import { FLOAT_LAYOUT } from '../weight-layout.ts';
import { planMixing } from './plan-mixing.ts';

const THREADS = 128;

/** A product whose heads are normalized and turned. */
interface NormedHeads {
  readonly product: MatmulOp;
  readonly norm: RmsNormOp;
  readonly turned: RopeOp;
}

/** The operators from the normed activations to the mixed heads, heads of queries and keys normalized. */
interface NormedHeadOps {
  readonly q: NormedHeads;
  readonly k: NormedHeads;
  readonly v: MatmulOp;
  readonly append: KvAppendOp;
  readonly attention: AttentionOp;
}

/** Queries, keys and values as one product a format, then one launch that norms, turns and appends heads, then attention. */
export function fuseNormedAttention(op: Op, uses: GraphUses, to: Lowering): Fusion | undefined {
  if (op.kind !== 'attention') return undefined;
  const found = findHeads(op, uses);
  if (!found || !fits(found)) return undefined;
  const { q, k, v, append } = found;
  const heads = [q, k].flatMap(({ product, norm, turned }) => [product, norm, turned]);
  return { ops: [...heads, v, append, op], emit: () => launchHeads(to, found, uses) };
}

/** The chain that ends in turned heads, read by nobody else on its way. */
function headsOf(turned: Op | undefined, uses: GraphUses): NormedHeads | undefined {
  if (turned?.kind !== 'rope') return undefined;
  const norm = uses.producer(turned.x);
  if (norm?.kind !== 'rmsNorm' || norm.weight.columns !== turned.headSize) return undefined;
  const product = uses.producer(norm.x);
  if (product?.kind !== 'matmul') return undefined;
  const alone = uses.onlyReader(norm.out) === turned && uses.onlyReader(product.out) === norm;
  return alone ? { product, norm, turned } : undefined;
}

function findHeads(attention: AttentionOp, uses: GraphUses): NormedHeadOps | undefined {
  const q = headsOf(uses.producer(attention.q), uses);
  if (!q || uses.onlyReader(q.turned.out) !== attention) return undefined;
  for (const reader of uses.readers(q.product.x)) {
    if (reader.kind !== 'matmul') continue;
    const append = uses.onlyReader(reader.out);
    if (append?.kind !== 'kvAppend' || append.v !== reader.out) continue;
    if (append.cache.keys !== attention.cache.keys || uses.place(append) > uses.place(attention)) continue;
    const k = headsOf(uses.producer(append.k), uses);
    if (!k || k.product.x !== q.product.x || uses.onlyReader(k.turned.out) !== append) continue;
    return { q, k, v: reader, append, attention };
  }
  return undefined;
}

function fits({ q, k, v, attention }: NormedHeadOps): boolean {
  const products = [q.product, k.product, v];
  const biases = products.filter(({ bias }) => bias).length;
  const alike =
    q.turned.table === k.turned.table &&
    q.turned.headSize === k.turned.headSize &&
    q.turned.pairs === k.turned.pairs &&
    q.turned.headSize === attention.keySize;
  return alike && products.every(isInteger) && (biases === 0 || biases === 3);
}

/** Rows of a product's results: where they lie, how far apart, and where its own begin in them. */
type Place = readonly [memory: Operand, stride: Operand, start: Operand];

/** Launches products, those of neighbours of one format together, and says where each one's results are. */
function launchProducts(to: Lowering, products: readonly MatmulOp[]): ReadonlyMap<MatmulOp, Place> {
  const places = new Map<MatmulOp, Place>();
  for (const group of formatGroups(products)) {
    const [first] = group as [MatmulOp];
    const width = group.reduce((sum, { out }) => sum + out.width, 0);
    const memory = to.temporary(4 * to.capacity(first.out) * width);
    const biases = group.flatMap(({ bias }) => (bias ? [bias] : []));
    const of = {
      x: first.x,
      weights: group.map(({ weight }) => weight),
      outputs: width,
      output: 'floats' as const,
      y: memory,
      ...(biases.length > 0 ? { addend: to.weight(biases, FLOAT_LAYOUT) } : {}),
    };
    if (isMatvec(first, to)) launchMatvec(to, of);
    else launchProduct(to, of);
    let start = 0;
    for (const product of group) {
      places.set(product, [memory, int(width), int(start)]);
      start += product.out.width;
    }
  }
  return places;
}

function launchHeads(to: Lowering, of: NormedHeadOps, uses: GraphUses): void {
  const { q, k, v, append, attention } = of;
  const { cache, batch } = append;
  const { heads, kvHeads, keySize, valueSize } = attention;
  const { table, pairs } = q.turned;
  const mixing = planMixing(attention, uses, to);
  const places = launchProducts(to, [q.product, k.product, v]);
  const parts = [q.product, k.product, v].map((product) => places.get(product) as Place);
  to.launch({
    file: 'heads-norm-append.hip',
    kernel: 'heads_norm_append',
    defines: { ...cacheDefines(cache), HEAD_SIZE: keySize },
    grid: [to.capacity(q.product.out), heads + 2 * kvHeads],
    block: THREADS,
    args: [
      to.count(q.product.out),
      ...parts.flatMap(([memory, stride]) => [memory, stride]),
      ...parts.map(([, , start]) => start),
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
      q.turned.out as Tensor,
      cache.keys,
      cache.values,
      ...mixing.zeroed,
    ],
  });
  mixing.launch();
}
