import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { Tensor, Weight } from './value.ts';

/** How positions beyond the trained context are interpolated into it. */
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

/** How many values of a head are rotated (`dimensions`, in pairs), and by which frequencies. */
export interface RopeParameters {
  readonly dimensions: number;
  readonly base: number;
  readonly scaling: RopeScaling;
  /** Whether values are rotated back. */
  readonly inverse?: true;
}

/**
 * `out[r, 2i] = m cos(t)`, `out[r, 2i + 1] = m sin(t)` (`-m sin(t)` if inverse), with `t = positions[r] * frequency[i] / factors[i]`: the
 * rotations of a batch, computed once per step for all layers (Su et al. 2021). `RopeAngles` computes a row; `factors`
 * is the file's `rope_freqs.weight` (Llama 3.1), if it has one; factors beyond the last frequency are not used.
 */
export interface RopeTableOp {
  readonly kind: 'ropeTable';
  readonly positions: Tensor;
  readonly factors: Weight | undefined;
  readonly parameters: RopeParameters;
  readonly out: Tensor;
}

/**
 * Rotates the first `table.width` values of every head of `headSize`; the rest pass through. `interleaved` rotates
 * neighbours (2i, 2i + 1), as in Llama's files (GPT-J style); `neox` rotates (i, i + table.width / 2), as in GPT-NeoX.
 */
export interface RopeOp {
  readonly kind: 'rope';
  readonly x: Tensor;
  readonly table: Tensor;
  readonly headSize: number;
  readonly pairs: RopePairs;
  readonly out: Tensor;
}

/** Which two values of a head are rotated together. */
export type RopePairs = 'interleaved' | 'neox';

/** The cosines and sines of positions, by default the batch's: f32 [rows, parameters.dimensions]. */
export function ropeTable(
  g: Recorder<RopeTableOp>,
  parameters: RopeParameters,
  factors?: Weight,
  positions = g.batch.positions,
): Tensor {
  const { dimensions } = parameters;
  g.require(dimensions % 2 === 0, `rope rotates an even number of values, not ${dimensions}`);
  g.require(factors === undefined || factors.columns >= dimensions / 2, `rope has ${dimensions / 2} factors`);
  const out = g.temp('ropeTable', { axis: 'rows', width: dimensions });
  g.push({ kind: 'ropeTable', positions, factors, parameters, out });
  return out;
}

/** Rotates the heads of each row by its position: [rows, x.width]. */
export function rope(
  g: Recorder<RopeOp>,
  x: Tensor,
  of: { table: Tensor; headSize: number; pairs: RopePairs },
): Tensor {
  g.require(x.width % of.headSize === 0, `heads of ${of.headSize} divide the row of ${x.width} evenly`);
  g.require(of.table.width <= of.headSize, `at most ${of.headSize} values of a head are rotated`);
  const out = g.temp('rope', { axis: 'rows', width: x.width });
  g.push({ kind: 'rope', x, ...of, out });
  return out;
}

/**
 * The end of YaRN's ramp between extrapolation and interpolation that belongs to a number of rotations over the trained
 * context.
 */
function yarnCorner(p: RopeParameters, originalContext: number, turns: number): number {
  return (p.dimensions * Math.log(originalContext / (turns * 2 * Math.PI))) / (2 * Math.log(p.base));
}

/**
 * Constants shared by the rotations of all positions, in f32: the ratio of neighbouring frequencies (`thetaScale`), the
 * factor of interpolated angles, that of cosines and sines; and YaRN's ramp from pair `rampLow` to `rampHigh`, over
 * which the share of the extrapolated angle falls from `extrapolation` to 0 (Peng et al. 2023, "YaRN", section 3.2).
 */
export interface RopeConstants {
  readonly thetaScale: number;
  readonly freqScale: number;
  readonly mscale: number;
  /** Factor of sines: the same, or its negative for rotations back. */
  readonly sineScale: number;
  readonly rampLow: number;
  readonly rampHigh: number;
  readonly extrapolation: number;
}

/** The constants of the parameters. */
export function ropeConstants(parameters: RopeParameters): RopeConstants {
  const { scaling, base, dimensions } = parameters;
  const yarn = scaling.kind === 'yarn' ? scaling : undefined;
  const corner = (turns: number) => (yarn ? yarnCorner(parameters, yarn.originalContext, turns) : 0);
  // A factor below 1 shortens the context, which needs no magnitude.
  const stretch = yarn && yarn.extrapolation !== 0 ? 1 + 0.1 * Math.log(Math.max(1, yarn.factor)) : 1;
  const mscale = Math.fround((yarn?.attention ?? 1) * stretch);
  return {
    thetaScale: Math.fround(base ** (-2 / dimensions)),
    freqScale: Math.fround(scaling.kind === 'none' ? 1 : 1 / scaling.factor),
    mscale,
    sineScale: parameters.inverse ? -mscale : mscale,
    rampLow: yarn ? Math.max(0, Math.floor(corner(yarn.betaFast))) : 0,
    rampHigh: yarn ? Math.min(dimensions - 1, Math.ceil(corner(yarn.betaSlow))) : 0,
    extrapolation: yarn?.extrapolation ?? 0,
  };
}

/** The share of the extrapolated angle in each pair. */
export function extrapolationRamp({ dimensions }: RopeParameters, of: RopeConstants): Float32Array {
  const ramp = new Float32Array(dimensions / 2);
  if (of.extrapolation === 0) return ramp;
  return ramp.map((_, pair) => {
    const span = Math.max(0.001, of.rampHigh - of.rampLow);
    const ramp = Math.min(1, Math.max(0, (pair - of.rampLow) / span));
    return (1 - ramp) * of.extrapolation;
  });
}

/**
 * The rotation angles of one position, as cosines and sines. Angles are rounded to f32 at every step and the frequency
 * falls by repeated f32 multiplication, as in ggml's `ggml_rope_cache_init`: with small factors and distant positions,
 * angles are so large that their rounding is visible in the logits, so it is part of the operator's definition.
 */
export class RopeAngles {
  readonly #thetaScale: number;
  readonly #freqScale: number;
  readonly #ramp: Float32Array;
  readonly #mscale: number;
  readonly #sineScale: number;

  constructor(
    readonly parameters: RopeParameters,
    readonly factors?: ArrayLike<number>,
  ) {
    const constants = ropeConstants(parameters);
    this.#thetaScale = constants.thetaScale;
    this.#freqScale = constants.freqScale;
    this.#ramp = extrapolationRamp(parameters, constants);
    this.#mscale = constants.mscale;
    this.#sineScale = constants.sineScale;
  }

  /** Writes (cos, sin) of every pair for `position` at `offset`. */
  fill(position: number, out: Float32Array, offset = 0): void {
    const round = Math.fround;
    let angle = round(position);
    for (let pair = 0, at = offset; pair < this.#ramp.length; pair++, at += 2) {
      const extrapolated = round(angle / (this.factors?.[pair] ?? 1));
      const interpolated = round(this.#freqScale * extrapolated);
      const mix = this.#ramp[pair] as number;
      const rotation =
        mix === 0 ? interpolated : round(round(interpolated * (1 - mix)) + round(extrapolated * mix));
      out[at] = round(Math.cos(rotation)) * this.#mscale;
      out[at + 1] = round(Math.sin(rotation)) * this.#sineScale;
      angle = round(angle * this.#thetaScale);
    }
  }
}

/** Reads and writes each row once. */
export function ropeCost(op: RopeTableOp | RopeOp, rows: number): Cost {
  return rowwiseCost(rows, 2 * op.out.width, (op.kind === 'rope' ? 3 : 16) * op.out.width);
}
