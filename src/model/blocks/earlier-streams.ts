import { add, scale, unary } from '../../ops/elementwise.ts';
import { combineExperts } from '../../ops/experts/combine-experts.ts';
import type { GraphBuilder } from '../../ops/graph.ts';
import { concat } from '../../ops/concat.ts';
import { l2Norm } from '../../ops/group-norm.ts';
import type { Tensor } from '../../ops/value.ts';
import type { PartScope } from '../part-scope.ts';
import { linear } from './linear.ts';

/**
 * The residual stream as it entered some earlier layers, beside which sublayers read the present one: a mixture by a softmax of
 * scores, each the product of a normalized stream with a vector (Kimi team 2026, "Attention Residuals").
 */
export interface EarlierStreams {
  /** The names under which they are shared, in order. */
  readonly kept: readonly string[];
  /** The name under which this layer keeps the stream, which then begins anew with the result of its first sublayer. */
  readonly keeps?: string | undefined;
  /** Of the norms. */
  readonly epsilon: number;
}

/** Values side by side. */
function stack(g: GraphBuilder, parts: readonly Tensor[]): Tensor {
  return parts.reduce((a, b) => concat(g, a, b, { aPart: a.width, bPart: b.width }));
}

/** What a sublayer reads of `present`, f32 [rows, width], and the earlier streams, with the scores of `<name>.weight`. */
export function readStreams(
  scope: PartScope,
  present: Tensor,
  {
    earlier,
    name,
    epsilon,
  }: { readonly earlier: readonly Tensor[]; readonly name: string; readonly epsilon: number },
): Tensor {
  const { g } = scope;
  if (earlier.length === 0) return present;
  const streams = [...earlier, present];
  const scores = streams.map((stream) => {
    const normed = l2Norm(g, stream, { by: 'rms', size: stream.width, epsilon });
    return linear(scope, normed, { name, rows: 1, scale: 'never' });
  });
  // ln(eᵃ + eᵇ) as a + ln(1 + eᵇ⁻ᵃ), in which nothing grows beyond f32.
  const total = scores.reduce((sum, score) => add(g, sum, unary(g, 'softplus', minus(g, score, sum))));
  const totals = stack(
    g,
    scores.map(() => total),
  );
  const shares = unary(g, 'exp', minus(g, stack(g, scores), totals));
  return combineExperts(g, stack(g, streams), shares);
}

function minus(g: GraphBuilder, a: Tensor, b: Tensor): Tensor {
  return add(g, a, scale(g, b, -1));
}
