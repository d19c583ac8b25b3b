import { formatGroups, type Fusion, type GraphUses } from '../../../../device/index.ts';
import type { MatmulOp, Op } from '../../../../ops/index.ts';
import {
  fitsHeadsNormAppend,
  type JoinedRows,
  launchHeadsNormAppend,
  type NormedHeadOps,
  type NormedHeads,
} from '../heads-norm-append.ts';
import type { Lowering } from '../lowering.ts';
import { fitsOneChunk } from './fits-one-chunk.ts';
import { formRead } from './form-read.ts';
import { launchJoinedProduct, launchResult } from './fuse-attention.ts';

/** Queries, keys and values as one product a format, then one launch that norms, rotates and appends heads, then attention. */
export function fuseNormedAttention(op: Op, uses: GraphUses, to: Lowering): Fusion | undefined {
  if (op.kind !== 'attention') return undefined;
  const found = findHeads(op, uses);
  if (!found || !fits(found, to)) return undefined;
  const { q, k, v, append } = found;
  const heads = [q, k].flatMap(({ product, norm, turned }) => [product, norm, turned]);
  return { ops: [...heads, v, append, op], emit: () => launchHeads(found, uses, to) };
}

/** The chain that ends in rotated heads, read by nobody else on its way. */
function headsOf(turned: Op | undefined, uses: GraphUses): NormedHeads | undefined {
  if (turned?.kind !== 'rope') return undefined;
  const norm = uses.producer(turned.x);
  if (norm?.kind !== 'rmsNorm' || norm.weight.columns !== turned.headSize) return undefined;
  const product = uses.producer(norm.x);
  if (product?.kind !== 'matmul') return undefined;
  const alone = uses.onlyReader(norm.out) === turned && uses.onlyReader(product.out) === norm;
  return alone ? { product, norm, turned } : undefined;
}

function findHeads(attention: NormedHeadOps['attention'], uses: GraphUses): NormedHeadOps | undefined {
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

function productsOf({ q, k, v }: NormedHeadOps): readonly MatmulOp[] {
  return [q.product, k.product, v];
}

function fits(heads: NormedHeadOps, to: Lowering): boolean {
  const { q, k, attention } = heads;
  const products = productsOf(heads);
  const biases = products.filter(({ bias }) => bias).length;
  const alike =
    q.turned.table === k.turned.table &&
    q.turned.headSize === k.turned.headSize &&
    q.turned.pairs === k.turned.pairs &&
    q.turned.headSize === attention.keySize;
  const groups = formatGroups(products);
  const joined = groups.every((group) =>
    fitsOneChunk(
      group.map(({ weight }) => weight),
      to,
    ),
  );
  return alike && joined && (biases === 0 || biases === 3) && fitsHeadsNormAppend(heads, groups.length, to);
}

function launchHeads(heads: NormedHeadOps, uses: GraphUses, to: Lowering): void {
  const { q, k, v, attention } = heads;
  const places = new Map<MatmulOp, JoinedRows>();
  for (const group of formatGroups(productsOf(heads))) {
    const { memory, width: stride } = launchJoinedProduct(group, to);
    let start = 0;
    for (const product of group) {
      places.set(product, { memory, stride, start });
      start += product.out.width;
    }
  }
  const [ofQ, ofK, ofV] = [q.product, k.product, v].map((product) => places.get(product) as JoinedRows);
  launchHeadsNormAppend(heads, { q: ofQ, k: ofK, v: ofV } as Record<'q' | 'k' | 'v', JoinedRows>, to);
  launchResult(attention, formRead(attention.out, uses, to), to);
}
