import { type Cost, rowwiseCost } from './cost.ts';
import type { GraphBuilder } from './graph.ts';
import type { Tensor, Weight } from './value.ts';

/** How positions beyond the trained context are squeezed into it. */
export type RopeScaling =
  | { readonly kind: 'none' }
  | { readonly kind: 'linear'; readonly factor: number }
  | {
      readonly kind: 'yarn';
      readonly factor: number;
      readonly originalContext: number;
      readonly extrapolation: number;
      readonly attention: number;
      readonly betaFast: number;
      readonly betaSlow: number;
    };

/** Which pairs are turned (`dimensions` of them counted as single values), and how fast. */
export interface RopeParameters {
  readonly dimensions: number;
  readonly base: number;
  readonly scaling: RopeScaling;
}

/**
 * `out[r, 2i] = m cos(t)`, `out[r, 2i + 1] = m sin(t)`, with `t = positions[r] * frequency[i] / factors[i]`: the turns of a
 * batch, computed once a step for all layers (Su et al. 2021). `ropeFrequencies` gives `frequency` and `m`; `factors` is the
 * file's `rope_freqs.weight` (Llama 3.1) where it has one.
 */
export interface RopeTableOp {
  readonly kind: 'ropeTable';
  readonly positions: Tensor;
  readonly factors: Weight | undefined;
  readonly parameters: RopeParameters;
  readonly out: Tensor;
}

/**
 * Turns the first `table.width` values of every head of `headSize`; the rest pass through. `interleaved` turns neighbours
 * (2i, 2i + 1), as llama's files; `halves` turns (i, i + table.width / 2), as NeoX.
 */
export interface RopeOp {
  readonly kind: 'rope';
  readonly x: Tensor;
  readonly table: Tensor;
  readonly headSize: number;
  readonly pairs: RopePairs;
  readonly out: Tensor;
}

export type RopePairs = 'interleaved' | 'halves';

/** The turns of the batch's positions: f32 [rows, parameters.dimensions]. */
export function ropeTable(g: GraphBuilder, parameters: RopeParameters, factors?: Weight): Tensor {
  const { dimensions } = parameters;
  g.require(dimensions % 2 === 0, `rope turns an even number of values, not ${dimensions}`);
  g.require(
    factors === undefined || factors.columns === dimensions / 2,
    `rope has ${dimensions / 2} factors`,
  );
  const out = g.temp('ropeTable', { axis: 'rows', width: dimensions });
  g.push({ kind: 'ropeTable', positions: g.batch.positions, factors, parameters, out });
  return out;
}

export function rope(
  g: GraphBuilder,
  x: Tensor,
  of: { table: Tensor; headSize: number; pairs: RopePairs },
): Tensor {
  g.require(x.width % of.headSize === 0, `heads of ${of.headSize} divide the row of ${x.width} evenly`);
  g.require(of.table.width <= of.headSize, `at most ${of.headSize} values of a head are turned`);
  const out = g.temp('rope', { axis: 'rows', width: x.width });
  g.push({ kind: 'rope', x, ...of, out });
  return out;
}

/** Where YaRN's ramp between extrapolation and interpolation stands for a number of turns over the trained context. */
function yarnCorner(p: RopeParameters, originalContext: number, turns: number): number {
  return (p.dimensions * Math.log(originalContext / (turns * 2 * Math.PI))) / (2 * Math.log(p.base));
}

/**
 * Radians a position for each pair, and the magnitude of the turn (Peng et al. 2023, "YaRN", sections 3.2 to 3.4; ggml's
 * `rope_yarn`).
 */
export function ropeFrequencies(p: RopeParameters): { frequencies: Float64Array; magnitude: number } {
  const frequencies = new Float64Array(p.dimensions / 2);
  for (let i = 0; i < frequencies.length; i++) frequencies[i] = p.base ** ((-2 * i) / p.dimensions);
  const { scaling } = p;
  if (scaling.kind === 'none') return { frequencies, magnitude: 1 };
  if (scaling.kind === 'linear') {
    return { frequencies: frequencies.map((f) => f / scaling.factor), magnitude: 1 };
  }
  const low = Math.max(0, Math.floor(yarnCorner(p, scaling.originalContext, scaling.betaFast)));
  const high = Math.min(
    p.dimensions - 1,
    Math.ceil(yarnCorner(p, scaling.originalContext, scaling.betaSlow)),
  );
  const blended = frequencies.map((f, i) => {
    const ramp = Math.min(1, Math.max(0, (i - low) / Math.max(0.001, high - low)));
    const extrapolated = (1 - ramp) * scaling.extrapolation;
    return (f / scaling.factor) * (1 - extrapolated) + f * extrapolated;
  });
  const stretch = scaling.extrapolation === 0 ? 1 : 1 + 0.1 * Math.log(scaling.factor);
  return { frequencies: blended, magnitude: scaling.attention * stretch };
}

export function ropeCost(op: RopeTableOp | RopeOp, rows: number): Cost {
  return rowwiseCost(rows, 2 * op.out.width, (op.kind === 'rope' ? 3 : 16) * op.out.width);
}
