import type { AttentionOp, KvAppendOp, MatmulOp, Op, RmsNormOp, RopeOp } from '../../ops/index.ts';
import type { GraphUses } from './graph-uses.ts';

/** The operators from the normed activations to the mixed heads. */
export interface HeadOps {
  readonly q: MatmulOp;
  readonly k: MatmulOp;
  readonly v: MatmulOp;
  readonly rotatedQ: RopeOp;
  readonly rotatedK: RopeOp;
  readonly append: KvAppendOp;
  readonly attention: AttentionOp;
}

/**
 * The group of operators that ends in this attention: products of one tensor, queries and keys rotated alike, keys and values
 * appended to the cache that is attended to, nothing in between read by anyone else. All three products have a bias or none.
 */
export function matchHeads(attention: AttentionOp, uses: GraphUses): HeadOps | undefined {
  const rotatedQ = uses.producer(attention.q);
  if (rotatedQ?.kind !== 'rope') return undefined;
  const q = uses.producer(rotatedQ.x);
  if (q?.kind !== 'matmul') return undefined;
  for (const reader of uses.readers(q.x)) {
    if (reader.kind !== 'matmul' || reader === q) continue;
    const rotatedK = uses.onlyReader(reader.out);
    if (rotatedK?.kind !== 'rope') continue;
    const append = uses.onlyReader(rotatedK.out);
    if (append?.kind !== 'kvAppend' || append.cache.keys !== attention.cache.keys) continue;
    const v = uses.producer(append.v);
    if (v?.kind !== 'matmul' || v.x !== q.x || append.k !== rotatedK.out) continue;
    const heads = { q, k: reader, v, rotatedQ, rotatedK, append, attention };
    return areAlone(heads, uses) && areAlike(heads) ? heads : undefined;
  }
  return undefined;
}

function areAlone({ q, v, rotatedQ, append, attention }: HeadOps, uses: GraphUses): boolean {
  return (
    uses.onlyReader(q.out) === rotatedQ &&
    uses.onlyReader(rotatedQ.out) === attention &&
    uses.onlyReader(v.out) === append &&
    uses.place(append) < uses.place(attention)
  );
}

function areAlike({ q, k, v, rotatedQ, rotatedK }: HeadOps): boolean {
  const biases = [q, k, v].filter(({ bias }) => bias).length;
  return (
    rotatedQ.table === rotatedK.table &&
    rotatedQ.headSize === rotatedK.headSize &&
    rotatedQ.pairs === rotatedK.pairs &&
    (biases === 0 || biases === 3)
  );
}

/** A product whose heads are normalized and rotated. */
export interface NormedHeads {
  readonly product: MatmulOp;
  readonly norm: RmsNormOp;
  readonly rotated: RopeOp;
}

/** The operators from the normed activations to the mixed heads, heads of queries and keys normalized. */
export interface NormedHeadOps {
  readonly q: NormedHeads;
  readonly k: NormedHeads;
  readonly v: MatmulOp;
  readonly append: KvAppendOp;
  readonly attention: AttentionOp;
}

/** As `matchHeads`, with norms of queries' and keys' heads before they are rotated. */
export function matchNormedHeads(attention: AttentionOp, uses: GraphUses): NormedHeadOps | undefined {
  const q = headsOf(uses.producer(attention.q), uses);
  if (!q || uses.onlyReader(q.rotated.out) !== attention) return undefined;
  for (const reader of uses.readers(q.product.x)) {
    if (reader.kind !== 'matmul') continue;
    const append = uses.onlyReader(reader.out);
    if (append?.kind !== 'kvAppend' || append.v !== reader.out) continue;
    if (append.cache.keys !== attention.cache.keys || uses.place(append) > uses.place(attention)) continue;
    const k = headsOf(uses.producer(append.k), uses);
    if (!k || k.product.x !== q.product.x || uses.onlyReader(k.rotated.out) !== append) continue;
    const heads = { q, k, v: reader, append, attention };
    return areNormedAlike(heads) ? heads : undefined;
  }
  return undefined;
}

/** The chain that ends in rotated heads, read by nobody else on its way. */
function headsOf(rotated: Op | undefined, uses: GraphUses): NormedHeads | undefined {
  if (rotated?.kind !== 'rope') return undefined;
  const norm = uses.producer(rotated.x);
  if (norm?.kind !== 'rmsNorm' || norm.weight.columns !== rotated.headSize) return undefined;
  const product = uses.producer(norm.x);
  if (product?.kind !== 'matmul') return undefined;
  const alone = uses.onlyReader(norm.out) === rotated && uses.onlyReader(product.out) === norm;
  return alone ? { product, norm, rotated } : undefined;
}

function areNormedAlike({ q, k, v, attention }: NormedHeadOps): boolean {
  const biases = [q.product, k.product, v].filter(({ bias }) => bias).length;
  return (
    q.rotated.table === k.rotated.table &&
    q.rotated.headSize === k.rotated.headSize &&
    q.rotated.pairs === k.rotated.pairs &&
    q.rotated.headSize === attention.keySize &&
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
