import type { AttentionOp, KvAppendOp, MatmulOp, Op, RmsNormOp, RopeOp } from '../../ops/index.ts';
import type { GraphUses } from './graph-uses.ts';

/** The operators from the normed activations to the mixed heads. */
export interface HeadOps {
  readonly q: MatmulOp;
  readonly k: MatmulOp;
  readonly v: MatmulOp;
  readonly turnedQ: RopeOp;
  readonly turnedK: RopeOp;
  readonly append: KvAppendOp;
  readonly attention: AttentionOp;
}

/**
 * The group of operators that ends in this attention: products of one tensor, queries and keys turned alike, keys and values
 * appended to the cache that is attended to, nothing in between read by anyone else. All three products have a bias or none.
 */
export function matchHeads(attention: AttentionOp, uses: GraphUses): HeadOps | undefined {
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
    const heads = { q, k: reader, v, turnedQ, turnedK, append, attention };
    return areAlone(heads, uses) && areAlike(heads) ? heads : undefined;
  }
  return undefined;
}

function areAlone({ q, v, turnedQ, append, attention }: HeadOps, uses: GraphUses): boolean {
  return (
    uses.onlyReader(q.out) === turnedQ &&
    uses.onlyReader(turnedQ.out) === attention &&
    uses.onlyReader(v.out) === append &&
    uses.place(append) < uses.place(attention)
  );
}

function areAlike({ q, k, v, turnedQ, turnedK }: HeadOps): boolean {
  const biases = [q, k, v].filter(({ bias }) => bias).length;
  return (
    turnedQ.table === turnedK.table &&
    turnedQ.headSize === turnedK.headSize &&
    turnedQ.pairs === turnedK.pairs &&
    (biases === 0 || biases === 3)
  );
}

/** A product whose heads are normalized and turned. */
export interface NormedHeads {
  readonly product: MatmulOp;
  readonly norm: RmsNormOp;
  readonly turned: RopeOp;
}

/** The operators from the normed activations to the mixed heads, heads of queries and keys normalized. */
export interface NormedHeadOps {
  readonly q: NormedHeads;
  readonly k: NormedHeads;
  readonly v: MatmulOp;
  readonly append: KvAppendOp;
  readonly attention: AttentionOp;
}

/** As `matchHeads`, with norms of queries' and keys' heads before they are turned. */
export function matchNormedHeads(attention: AttentionOp, uses: GraphUses): NormedHeadOps | undefined {
  const q = headsOf(uses.producer(attention.q), uses);
  if (!q || uses.onlyReader(q.turned.out) !== attention) return undefined;
  for (const reader of uses.readers(q.product.x)) {
    if (reader.kind !== 'matmul') continue;
    const append = uses.onlyReader(reader.out);
    if (append?.kind !== 'kvAppend' || append.v !== reader.out) continue;
    if (append.cache.keys !== attention.cache.keys || uses.place(append) > uses.place(attention)) continue;
    const k = headsOf(uses.producer(append.k), uses);
    if (!k || k.product.x !== q.product.x || uses.onlyReader(k.turned.out) !== append) continue;
    const heads = { q, k, v: reader, append, attention };
    return areNormedAlike(heads) ? heads : undefined;
  }
  return undefined;
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

function areNormedAlike({ q, k, v, attention }: NormedHeadOps): boolean {
  const biases = [q.product, k.product, v].filter(({ bias }) => bias).length;
  return (
    q.turned.table === k.turned.table &&
    q.turned.headSize === k.turned.headSize &&
    q.turned.pairs === k.turned.pairs &&
    q.turned.headSize === attention.keySize &&
    (biases === 0 || biases === 3)
  );
}

/** Neighbours among products whose weights have one format. */
export function formatGroups(products: readonly MatmulOp[]): MatmulOp[][] {
  const groups: MatmulOp[][] = [];
  for (const product of products) {
    const last = groups.at(-1);
    if (last?.[0]?.weight.format === product.weight.format) last.push(product);
    else groups.push([product]);
  }
  return groups;
}
