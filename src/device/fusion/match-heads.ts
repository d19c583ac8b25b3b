import type { AttentionOp, KvAppendOp, MatmulOp, RopeOp } from '../../ops/index.ts';
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
