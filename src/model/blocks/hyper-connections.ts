import { concat } from '../../ops/concat.ts';
import { combineExperts } from '../../ops/experts/combine-experts.ts';
import type { GraphBuilder } from '../../ops/graph.ts';
import { l2Norm } from '../../ops/group-norm.ts';
import { slice } from '../../ops/slice.ts';
import { streamShares } from '../../ops/stream-shares.ts';
import type { Tensor } from '../../ops/value.ts';
import type { PartScope } from '../part-scope.ts';
import { linear } from './linear.ts';

/**
 * Several residual streams side by side, which sublayers read as a sum by shares, and whose own mixture is doubly stochastic (Xie et
 * al. 2025, "mHC: Manifold-Constrained Hyper-Connections").
 */
export interface HyperConnectionsSpec {
  /** Number of streams. */
  readonly streams: number;
  /** Sinkhorn's iterations. */
  readonly iterations: number;
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

/** The shares of the streams, by `<name>_fn`, `<name>_scale` and `<name>_base`. */
function sharesOf(
  scope: PartScope,
  x: Tensor,
  of: HyperConnectionsSpec & { readonly name: string; readonly scales: number; readonly width: number },
): Tensor {
  const { g } = scope;
  const { name, scales, width, normEpsilon, streams, iterations, epsilon } = of;
  const normed = l2Norm(g, x, { by: 'rms', size: x.width, epsilon: normEpsilon });
  const mixes = linear(scope, normed, { name: `${name}_fn`, rows: width, scale: 'never' });
  const scale = scope.weight(`${name}_scale.weight`, 1, scales);
  const base = scope.weight(`${name}_base.weight`, 1, width);
  return streamShares(g, mixes, { scale, base, streams, iterations, epsilon });
}

/** Records a sublayer: what `compute` makes of the streams' sum by shares becomes a part of each of their mixtures. */
export function throughStreams(
  scope: PartScope,
  x: Tensor,
  of: HyperConnectionsSpec & { readonly name: string },
  compute: (read: Tensor) => Tensor,
): Tensor {
  const { g } = scope;
  const { streams } = of;
  const shares = sharesOf(scope, x, { ...of, scales: 3, width: streams * (streams + 2) });
  const part = (offset: number, width: number) => slice(g, shares, { offset, width });
  const computed = compute(combineExperts(g, x, part(0, streams)));
  const all = concat(g, x, computed, { aPart: x.width, bPart: computed.width });
  const mixtures = Array.from({ length: streams }, (_, index) =>
    combineExperts(g, all, part(streams + index * (streams + 1), streams + 1)),
  );
  return stack(g, mixtures);
}

/** What the head reads of the streams: f32 [rows, x.width / streams]. */
export function readHeadStreams(scope: PartScope, x: Tensor, of: HyperConnectionsSpec): Tensor {
  const shares = sharesOf(scope, x, { ...of, name: 'output_hc', scales: 1, width: of.streams });
  return combineExperts(scope.g, x, shares);
}
