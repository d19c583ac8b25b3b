import { InvalidArgumentError, Option } from 'commander';
import { type RopeOverrides, ROPE_METHODS } from '../model/rope-overrides.ts';

/** Settings of RoPE instead of the file's, as flags. The names are llama.cpp's. */
export interface RopeFlags {
  readonly ropeScaling?: (typeof ROPE_METHODS)[number];
  readonly ropeScale?: number;
  readonly ropeFreqScale?: number;
  readonly ropeFreqBase?: number;
  readonly yarnOrigCtx?: number;
  readonly yarnExtFactor?: number;
  readonly yarnAttnFactor?: number;
  readonly yarnBetaFast?: number;
  readonly yarnBetaSlow?: number;
}

/** Flags for contexts beyond the trained one. */
export function ropeOptions(): Option[] {
  return [
    new Option(
      '--rope-scaling <method>',
      'how RoPE is scaled (default: as the file says, or linear)',
    ).choices(ROPE_METHODS),
    new Option('--rope-scale <factor>', 'by how much the context grows (default: as the file says, or 1)')
      .argParser(numberFrom('positive'))
      .conflicts('ropeFreqScale'),
    new Option('--rope-freq-scale <factor>', 'the same as its reciprocal').argParser(numberFrom('positive')),
    new Option(
      '--rope-freq-base <base>',
      'base of the frequencies, for NTK-aware scaling (default: as the file says)',
    ).argParser(numberFrom('positive')),
    new Option(
      '--yarn-orig-ctx <tokens>',
      'the trained context that YaRN extends (default: as the file says)',
    ).argParser(numberFrom('positive')),
    new Option(
      '--yarn-ext-factor <share>',
      'share of extrapolated angles, 0 for interpolation alone (default: 1 with yarn)',
    ).argParser(numberFrom('zero')),
    new Option('--yarn-attn-factor <factor>', 'factor on rotated values (default: 1)').argParser(
      numberFrom('positive'),
    ),
    new Option(
      '--yarn-beta-fast <rotations>',
      'rotations above which angles are extrapolated (default: 32)',
    ).argParser(numberFrom('positive')),
    new Option(
      '--yarn-beta-slow <rotations>',
      'rotations below which angles are interpolated (default: 1)',
    ).argParser(numberFrom('positive')),
  ].map((option) => option.helpGroup('Context extension:'));
}

/** The library's option for the flags. */
export function ropeOf(flags: RopeFlags): { readonly rope?: RopeOverrides } {
  const { ropeFreqScale } = flags;
  const rope: RopeOverrides = {
    scaling: flags.ropeScaling,
    scale: ropeFreqScale === undefined ? flags.ropeScale : 1 / ropeFreqScale,
    base: flags.ropeFreqBase,
    originalContext: flags.yarnOrigCtx,
    extrapolation: flags.yarnExtFactor,
    attention: flags.yarnAttnFactor,
    betaFast: flags.yarnBetaFast,
    betaSlow: flags.yarnBetaSlow,
  };
  return Object.values(rope).some((value) => value !== undefined) ? { rope } : {};
}

function numberFrom(least: 'zero' | 'positive'): (text: string) => number {
  return (text) => {
    const value = Number(text);
    const isInside = least === 'zero' ? value >= 0 : value > 0;
    if (text.trim() !== '' && Number.isFinite(value) && isInside) return value;
    throw new InvalidArgumentError(`Expected a number ${least === 'zero' ? 'of at least 0' : 'above 0'}.`);
  };
}
