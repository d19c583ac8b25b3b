import { concat } from '../../ops/concat.ts';
import { add, mul, scale, unary } from '../../ops/elementwise.ts';
import { combineExperts } from '../../ops/experts/combine-experts.ts';
import type { GraphBuilder } from '../../ops/graph.ts';
import { l2Norm } from '../../ops/group-norm.ts';
import { slice } from '../../ops/slice.ts';
import { streamShares } from '../../ops/stream-shares.ts';
import type { Tensor } from '../../ops/value.ts';
import type { PartScope } from '../part-scope.ts';
import { linear } from './linear.ts';

/**
 * Several residual streams side by side, which sublayers read as a sum by shares. Their own mixture is doubly stochastic (Xie et al.
 * 2025, "mHC: Manifold-Constrained Hyper-Connections"), or each is continued for itself (Hy 4).
 */
export interface HyperConnectionsSpec {
  /** Number of streams. */
  readonly streams: number;
  /** Sinkhorn's iterations, or the largest share of a result in streams that are continued for themselves. */
  readonly mixture: { readonly iterations: number } | { readonly magnitude: number };
  /** What is added to shares, and to the sums that they are divided by. */
  readonly epsilon: number;
  /** Of the norm of all streams together, which the shares depend on. */
  readonly normEpsilon: number;
}

function stack(g: GraphBuilder, parts: readonly Tensor[]): Tensor {
  return parts.reduce((a, b) => concat(g, a, b, { aPart: a.width, bPart: b.width }));
}

/** Streams that are all the same: f32 [rows, streams * x.width]. */
export function copyStreams(g: GraphBuilder, x: Tensor, streams: number): Tensor {
  return stack(
    g,
    Array.from({ length: streams }, () => x),
  );
}

/** What the shares of the streams are computed from, by `<name>_fn`, `<name>_scale` and `<name>_base`. */
function mixesOf(
  scope: PartScope,
  x: Tensor,
  of: Pick<HyperConnectionsSpec, 'normEpsilon'> & {
    readonly name: string;
    readonly scales: number;
    readonly width: number;
  },
) {
  const { g } = scope;
  const { name, scales, width } = of;
  const normed = l2Norm(g, x, { by: 'rms', size: x.width, epsilon: of.normEpsilon });
  const mixes = linear(scope, normed, { name: `${name}_fn`, rows: width, scale: 'never' });
  return {
    mixes,
    scale: scope.weight(`${name}_scale.weight`, 1, scales),
    base: scope.weight(`${name}_base.weight`, 1, width),
  };
}

/** Records a sublayer: what `compute` makes of the streams' sum by shares becomes a part of each of their mixtures. */
export function throughStreams(
  scope: PartScope,
  x: Tensor,
  of: HyperConnectionsSpec & { readonly name: string },
  compute: (read: Tensor) => Tensor,
): Tensor {
  const { g } = scope;
  const { streams, epsilon, mixture } = of;
  if ('magnitude' in mixture) return throughOwnStreams(scope, x, { ...of, ...mixture }, compute);
  const mixes = mixesOf(scope, x, { ...of, scales: 3, width: streams * (streams + 2) });
  const shares = streamShares(g, mixes.mixes, { ...mixes, streams, epsilon, ...mixture });
  const part = (offset: number, width: number) => slice(g, shares, { offset, width });
  const computed = compute(combineExperts(g, x, part(0, streams)));
  const all = concat(g, x, computed, { aPart: x.width, bPart: computed.width });
  const mixtures = Array.from({ length: streams }, (_, index) =>
    combineExperts(g, all, part(streams + index * (streams + 1), streams + 1)),
  );
  return stack(g, mixtures);
}

/** The same where streams do not mix: what `compute` makes of their sum by shares is added to each by another share. */
function throughOwnStreams(
  scope: PartScope,
  x: Tensor,
  of: HyperConnectionsSpec & { readonly name: string; readonly magnitude: number },
  compute: (read: Tensor) => Tensor,
): Tensor {
  const { g } = scope;
  const { streams, epsilon, magnitude } = of;
  const { mixes, ...by } = mixesOf(scope, x, { ...of, scales: 2, width: 2 * streams });
  const opened = unary(g, 'sigmoid', add(g, mul(g, mixes, by.scale), by.base));
  const part = (index: number) => slice(g, opened, { offset: index * streams, width: streams });
  // A one for each share.
  const ones = unary(g, 'exp', scale(g, part(0), 0));
  const plus = (shares: Tensor) => add(g, shares, scale(g, ones, epsilon));
  const computed = compute(combineExperts(g, x, plus(part(0))));
  const written = mul(g, copyStreams(g, computed, streams), plus(scale(g, part(1), magnitude)));
  return add(g, x, written);
}

/** What the head reads of the streams: f32 [rows, x.width / streams]. */
export function readHeadStreams(scope: PartScope, x: Tensor, of: HyperConnectionsSpec): Tensor {
  const { streams, epsilon } = of;
  const mixes = mixesOf(scope, x, { ...of, name: 'output_hc', scales: 1, width: streams });
  const shares = streamShares(scope.g, mixes.mixes, { ...mixes, streams, epsilon, iterations: 1 });
  return combineExperts(scope.g, x, shares);
}
