import {
  type AttentionOp,
  type BinaryOp,
  decodesApart,
  hasSharedWeight,
  type KvAppendOp,
  type MatmulOp,
  type Op,
  type PagedCache,
  type RopeOp,
  type SliceOp,
  type State,
  type Tensor,
  type SharedWeightRmsNormOp,
  type Weight,
} from '../../ops/index.ts';
import type { GraphUses } from './graph-uses.ts';

/** Columns of a product: all of them or a slice, optionally with its own bias. */
export interface HeadColumns {
  readonly product: MatmulOp;
  readonly first: number;
  readonly width: number;
  readonly bias: Weight | undefined;
}

/** What appends heads of both, keys and values. */
interface HeadsAppend extends KvAppendOp {
  readonly v: Tensor;
  readonly cache: PagedCache & { readonly values: State };
}

/** The operators from the normalized activations to attention, by what they compute. */
export interface HeadOps {
  readonly q: HeadColumns;
  readonly k: HeadColumns;
  readonly v: HeadColumns;
  /** Norms of query and key heads. */
  readonly norms: { readonly q: SharedWeightRmsNormOp; readonly k: SharedWeightRmsNormOp } | undefined;
  /** The RoPE of queries and keys. */
  readonly rotation: Pick<RopeOp, 'table' | 'pairs' | 'headSize'> | undefined;
  readonly append: HeadsAppend;
  readonly attention: AttentionOp;
  readonly ops: readonly Op[];
}

/** Query, key or value heads: their source, and what is applied to them. */
interface HeadPath {
  readonly columns: HeadColumns;
  readonly norm: SharedWeightRmsNormOp | undefined;
  readonly rope: RopeOp | undefined;
  readonly ops: readonly (MatmulOp | SliceOp | BinaryOp | SharedWeightRmsNormOp | RopeOp)[];
}

/**
 * Matches the group of operators that ends in this attention: products of one tensor, queries and keys normalized and
 * rotated alike or not at all, keys and values appended to the cache that is attended to, without other readers in
 * between. Either all of queries, keys and values have a bias or none. A product may compute several of them, one after
 * another.
 */
export function matchHeads(attention: AttentionOp, ops: readonly Op[], uses: GraphUses): HeadOps | undefined {
  const append = ops.find(
    (op): op is HeadsAppend =>
      op.kind === 'kvAppend' && op.cache.keys === attention.cache.keys && op.cache.values !== undefined,
  );
  if (!append || uses.place(append) > uses.place(attention) || decodesApart(append.cache)) return undefined;
  const { keySize } = attention;
  const q = pathTo(attention.q, attention, { keySize, uses });
  const k = pathTo(append.k, append, { keySize, uses });
  const v = pathTo(append.v, append, { keySize, uses });
  if (!q || !k || !v || v.rope || v.norm) return undefined;
  const paths = [q, k, v];
  if (!areAlike(q, k) || !fillProducts(paths, uses)) return undefined;
  const biases = paths.filter(({ columns }) => columns.bias ?? columns.product.bias).length;
  if (biases !== 0 && biases !== 3) return undefined;
  const norms = q.norm && k.norm ? { q: q.norm, k: k.norm } : undefined;
  const rotation = q.rope;
  if (norms && rotation?.headSize !== keySize) return undefined;
  const members = new Set<Op>(paths.flatMap((path) => path.ops));
  const columns = { q: q.columns, k: k.columns, v: v.columns };
  return { ...columns, norms, rotation, append, attention, ops: [...members, append, attention] };
}

/** The chain that ends in a tensor read only by `reader`. */
function pathTo(
  tensor: Tensor,
  reader: Op,
  { keySize, uses }: { readonly keySize: number; readonly uses: GraphUses },
): HeadPath | undefined {
  const own = (at: Tensor, by: Op) => (uses.onlyReader(at) === by ? uses.producer(at) : undefined);
  const last = own(tensor, reader);
  const rope = last?.kind === 'rope' ? last : undefined;
  const before = rope ? own(rope.x, rope) : last;
  const isNorm = before?.kind === 'rmsNorm' && before.size === keySize && hasSharedWeight(before);
  const norm = isNorm ? before : undefined;
  const source = norm ? own(norm.x, norm) : before;
  const added = source?.kind === 'add' && source.b.kind === 'weight' ? source : undefined;
  const cut = added ? own(added.a, added) : source;
  const steps = [...(rope ? [rope] : []), ...(norm ? [norm] : [])];
  if (cut?.kind === 'matmul' && !added) {
    const columns = { product: cut, first: 0, width: cut.out.width, bias: undefined };
    return { columns, norm, rope, ops: [...steps, cut] };
  }
  const product = cut?.kind === 'slice' ? uses.producer(cut.x) : undefined;
  if (cut?.kind !== 'slice' || product?.kind !== 'matmul') return undefined;
  const { width } = cut.out;
  if (cut.segmentWidth !== width) return undefined;
  const bias = added?.b.kind === 'weight' && added.b.columns === width ? added.b : undefined;
  if (added && (!bias || product.bias)) return undefined;
  const columns = { product, first: cut.offset, width, bias };
  return { columns, norm, rope, ops: [...steps, ...(added ? [added] : []), cut, product] };
}

function areAlike(q: HeadPath, k: HeadPath): boolean {
  return (
    (q.norm === undefined) === (k.norm === undefined) &&
    q.rope?.table === k.rope?.table &&
    q.rope?.headSize === k.rope?.headSize &&
    q.rope?.pairs === k.rope?.pairs
  );
}

/** True if the products read one tensor, and the slices cover all of their outputs, in order. */
function fillProducts(paths: readonly HeadPath[], uses: GraphUses): boolean {
  const products = new Map<MatmulOp, { end: number; readers: number }>();
  let before: MatmulOp | undefined;
  for (const { columns } of paths) {
    const known = products.get(columns.product);
    if (columns.first !== (known?.end ?? 0) || (known && before !== columns.product)) return false;
    before = columns.product;
    const end = columns.first + columns.width;
    products.set(columns.product, { end, readers: (known?.readers ?? 0) + 1 });
  }
  const [first] = products.keys();
  return [...products].every(
    ([{ x, out }, { end, readers }]) =>
      x === first?.x && end === out.width && uses.readers(out).length === readers,
  );
}

/** The distinct products of heads. */
export function productsOf({ q, k, v }: HeadOps): readonly MatmulOp[] {
  return [...new Set([q.product, k.product, v.product])];
}

/** Groups adjacent products whose weights have the same format. */
export function formatGroups(products: readonly MatmulOp[]): MatmulOp[][] {
  const groups: MatmulOp[][] = [];
  for (const product of products) {
    const last = groups.at(-1);
    if (last?.[0]?.weight.format === product.weight.format) last.push(product);
    else groups.push([product]);
  }
  return groups;
}
