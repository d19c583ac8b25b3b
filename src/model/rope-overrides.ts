import { fail } from '../base/errors.ts';
import { checkOptions, type OptionNames } from '../base/options.ts';

/** The methods by which a RoPE is scaled on request. */
export const ROPE_METHODS = ['none', 'linear', 'yarn'] as const;

/**
 * What replaces the file's settings of its RoPE, as llama.cpp's `--rope-*` and `--yarn-*` do. Layers with a sliding window
 * that have a RoPE of their own keep its base and factor: distances within a window do not grow with the context.
 */
export interface RopeOverrides {
  /** The method; `none` also undoes the file's scaling. Default: the file's, or linear. */
  readonly scaling?: (typeof ROPE_METHODS)[number] | undefined;
  /** By how much the context grows. Default: the file's factor, or 1. */
  readonly scale?: number | undefined;
  /** Base of the frequencies: larger ones for "NTK-aware" scaling. Default: the file's, or 10 000. */
  readonly base?: number | undefined;
  /** The trained context that YaRN extends, in positions. Default: the file's. */
  readonly originalContext?: number | undefined;
  /** YaRN's share of extrapolated angles, 0 for interpolation alone. Default: 1 with YaRN, otherwise 0. */
  readonly extrapolation?: number | undefined;
  /** Factor on the rotated values, beside YaRN's own and the file's. Default 1. */
  readonly attention?: number | undefined;
  /** Rotations over the trained context above which angles are extrapolated. Default: the file's, or 32. */
  readonly betaFast?: number | undefined;
  /** Rotations below which angles are interpolated. Default: the file's, or 1. */
  readonly betaSlow?: number | undefined;
}

const NAMES: OptionNames<RopeOverrides> = {
  scaling: true,
  scale: true,
  base: true,
  originalContext: true,
  extrapolation: true,
  attention: true,
  betaFast: true,
  betaSlow: true,
};

/** Throws `INVALID_ARGUMENT` or `OPTION_UNKNOWN` for overrides that no RoPE could have. */
export function checkRopeOverrides(rope: RopeOverrides | undefined): void {
  checkOptions('rope', rope, NAMES);
  const { scaling, ...numbers } = rope ?? {};
  if (scaling !== undefined && !ROPE_METHODS.includes(scaling)) {
    refuse('scaling', scaling, ROPE_METHODS.join(', '));
  }
  for (const [name, value] of Object.entries(numbers)) {
    if (value === undefined) continue;
    const isPositive = Number.isFinite(value) && value > 0;
    if (name === 'originalContext') {
      if (!isPositive || !Number.isSafeInteger(value)) refuse(name, value, 'a positive whole number');
    } else if (!isPositive && !(name === 'extrapolation' && value === 0)) {
      refuse(name, value, name === 'extrapolation' ? 'a number, 0 or more' : 'a positive number');
    }
  }
}

/** Throws `INVALID_ARGUMENT` if overrides were requested for a model without RoPE. */
export function requireRope(
  {
    architecture,
    embedding,
  }: { readonly architecture: string; readonly embedding: { readonly ropes?: object } },
  rope: RopeOverrides | undefined,
): void {
  const asked = Object.entries(rope ?? {}).find(([, value]) => value !== undefined);
  if (!asked || Object.keys(embedding.ropes ?? {}).length > 0) return;
  refuse(asked[0], asked[1], `nothing for ${architecture}, which has no RoPE`);
}

function refuse(name: string, found: unknown, expected: string): never {
  fail('INVALID_ARGUMENT', { name: `rope.${name}`, found: String(found), expected });
}
