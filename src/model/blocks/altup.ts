import { concat } from '../../ops/concat.ts';
import { add, mul, scale, unary } from '../../ops/elementwise.ts';
import { combineExperts } from '../../ops/experts/combine-experts.ts';
import type { GraphBuilder } from '../../ops/graph.ts';
import { l2Norm } from '../../ops/group-norm.ts';
import { matmulHeads } from '../../ops/matmul-heads.ts';
import { slice } from '../../ops/slice.ts';
import type { Tensor } from '../../ops/value.ts';
import type { PartScope } from '../part-scope.ts';
import type { LayerContext } from './block.ts';
import { linear } from './linear.ts';
import { type Norm, normalize } from './norm.ts';
import { perLayerInput } from './per-layer-input.ts';

/**
 * AltUp (Baykal et al. 2023, "Alternating updates for efficient transformers"): rows carry several residual streams side by side, of
 * which layers compute the first. Each layer predicts all streams as mixtures of themselves, and corrects its predictions by what
 * it has computed.
 */
export interface AltUpSpec {
  /** Number of streams. */
  readonly streams: number;
  /** Norm of what the mixtures depend on, and of the values of the layer. */
  readonly norm: Norm;
  /** Width of the layer's own values, which are added to all streams but the first. */
  readonly perLayer: number;
}

/** Lengths below it count as this length. */
const LENGTH_EPSILON = 1e-5;

/** The first of the streams, or a later one. */
function stream(g: GraphBuilder, x: Tensor, width: number, index = 0): Tensor {
  return slice(g, x, { offset: index * width, width });
}

/** Rows side by side. */
function stack(g: GraphBuilder, parts: readonly Tensor[]): Tensor {
  return parts.reduce((a, b) => concat(g, a, b, { aPart: a.width, bPart: b.width }));
}

function repeat(g: GraphBuilder, x: Tensor, count: number): Tensor {
  return stack(
    g,
    Array.from({ length: count }, () => x),
  );
}

/** Gives each stream of `x` the length of the row of `like`. */
function withLengthOf(g: GraphBuilder, like: Tensor, x: Tensor): Tensor {
  const of = { size: like.width, epsilon: LENGTH_EPSILON };
  // A row times itself at length 1.
  const length = combineExperts(g, like, l2Norm(g, like, of));
  return mul(g, l2Norm(g, x, of), length);
}

/** The streams from the embeddings, f32 [rows, streams * width]: these, and as many products of them as long as they. */
export function splitStreams(scope: PartScope, x: Tensor, streams: number): Tensor {
  const { g } = scope;
  const matrices = { count: streams - 1, rows: x.width };
  const weight = scope.expertWeight('altup_proj.weight', matrices, x.width);
  const others = matmulHeads(g, repeat(g, x, matrices.count), weight, matrices.count);
  return stack(g, [x, withLengthOf(g, x, others)]);
}

/** The mean of the streams, f32 [rows, width], the others as products as long as the first. */
export function joinStreams(scope: PartScope, x: Tensor, width: number): Tensor {
  const { g } = scope;
  const streams = x.width / width;
  const first = stream(g, x, width);
  const matrices = { count: streams - 1, rows: width };
  const weight = scope.expertWeight('altup_unembd_proj.weight', matrices, width);
  const others = slice(g, x, { offset: width, width: matrices.count * width });
  const products = withLengthOf(g, first, matmulHeads(g, others, weight, matrices.count));
  const parts = Array.from({ length: matrices.count }, (_, index) => stream(g, products, width, index));
  return scale(
    g,
    parts.reduce((sum, part) => add(g, sum, part), first),
    1 / streams,
  );
}

/**
 * Records a layer around `compute`, which takes the first stream and returns it: all streams in, all streams out. Weights:
 * `altup_router`, `altup_router_norm`, `altup_predict_coef`, `altup_correct_coef`, `altup_correct_scale`, `post_norm`, and those of
 * the layer's own values.
 */
export function recordAltUp(
  scope: PartScope,
  { streams, norm, perLayer }: AltUpSpec,
  { x, inputs }: { readonly x: Tensor; readonly inputs: LayerContext },
  compute: (first: Tensor) => Tensor,
): Tensor {
  const { g } = scope;
  const width = x.width / streams;
  const predicted = add(g, x, predictChanges(scope, x, { streams, norm }));
  const first = stream(g, predicted, width);
  const computed = compute(first);
  const innovation = repeat(g, add(g, computed, scale(g, first, -1)), streams);
  const gains = mixture(scope, computed, { name: 'altup_correct_coef', rows: streams, norm, streams });
  const corrected = add(g, add(g, predicted, innovation), mul(g, innovation, gains));
  const kept = stream(g, corrected, width);
  const read = mul(g, kept, scope.weight('altup_correct_scale.weight', 1, width));
  const values = perLayerInput({ width: perLayer }).record(scope, read, { ...inputs, entering: x });
  const added = normalize(scope, values, { ...norm, name: 'post_norm' });
  const others = slice(g, corrected, { offset: width, width: (streams - 1) * width });
  return stack(g, [kept, add(g, others, repeat(g, added, streams - 1))]);
}

/** What each stream's prediction adds to it: a mixture of all streams, whose shares depend on the first. */
function predictChanges(
  scope: PartScope,
  x: Tensor,
  { streams, norm }: Pick<AltUpSpec, 'streams' | 'norm'>,
): Tensor {
  const { g } = scope;
  const first = stream(g, x, x.width / streams);
  const rows = streams * streams;
  const shares = mixture(scope, first, { name: 'altup_predict_coef', rows, norm, streams });
  const changes = Array.from({ length: streams }, (_, index) =>
    combineExperts(g, x, stream(g, shares, streams, index)),
  );
  return stack(g, changes);
}

/** A linear function of how much a row belongs to each of the streams. */
function mixture(
  scope: PartScope,
  x: Tensor,
  { norm, streams, ...product }: { name: string; rows: number } & Pick<AltUpSpec, 'streams' | 'norm'>,
): Tensor {
  const { g } = scope;
  const normed = normalize(scope, x, { ...norm, name: 'altup_router_norm' });
  const routed = linear(scope, scale(g, normed, 1 / x.width), {
    name: 'altup_router',
    rows: streams,
    scale: 'never',
  });
  return linear(scope, unary(g, 'tanh', routed), { ...product, scale: 'never' });
}
