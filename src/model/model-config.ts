import { fail } from '../base/errors.ts';
import type { GgufMetadata } from '../gguf/metadata.ts';
import type { RopePairs, RopeParameters, RopeScaling } from '../ops/rope.ts';

/** The sizes and constants of a decoder, read from a file's metadata. Widths count elements. */
export interface ModelConfig {
  readonly architecture: string;
  readonly layers: number;
  /** Width of the residual stream. */
  readonly width: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly keySize: number;
  readonly valueSize: number;
  /** Width of the feed-forward's hidden layer. */
  readonly hidden: number;
  /** Positions that the model was trained for. */
  readonly trainedContext: number;
  readonly normEpsilon: number;
  readonly rope: RopeParameters;
  readonly ropePairs: RopePairs;
  /** Factor of the attention scores. */
  readonly attentionScale: number;
  /** Positions a row may look back on, itself included; undefined for all. */
  readonly window: number | undefined;
}

/** Reads numbers below `<architecture>.` and checks that they are usable. */
export class ConfigReader {
  constructor(
    readonly metadata: GgufMetadata,
    readonly architecture: string,
  ) {}

  /** A count that must be there, unless a fallback is given. */
  count(key: string, fallback?: number): number {
    const name = `${this.architecture}.${key}`;
    const found = this.metadata.number(name) ?? fallback;
    if (found !== undefined && Number.isSafeInteger(found) && found > 0) return found;
    fail('MODEL_CONFIG', {
      key: name,
      found: String(found ?? 'nothing'),
      expected: 'a positive whole number',
    });
  }

  /** A real number; a missing one, or a zero where `zeroIsMissing`, gives the fallback. */
  real(key: string, fallback?: number, zeroIsMissing = false): number {
    const name = `${this.architecture}.${key}`;
    const stored = this.metadata.number(name);
    const found = stored === undefined || (zeroIsMissing && stored === 0) ? fallback : stored;
    if (found !== undefined && Number.isFinite(found)) return found;
    fail('MODEL_CONFIG', { key: name, found: String(found ?? 'nothing'), expected: 'a number' });
  }

  /** RoPE of `dimensions` values a head as `rope.*` describes it; a scaling factor of 0 or 1 is no scaling. */
  rope(dimensions: number, trainedContext: number): RopeParameters {
    const base = this.real('rope.freq_base', 10000, true);
    return { dimensions, base, scaling: this.#ropeScaling(trainedContext) };
  }

  #ropeScaling(trainedContext: number): RopeScaling {
    const key = `${this.architecture}.rope.scaling.type`;
    const kind = this.metadata.string(key);
    const legacy = this.metadata.number(`${this.architecture}.rope.scale_linear`);
    const factor = this.real('rope.scaling.factor', legacy ?? 1, true);
    if (kind === 'none' || (kind !== 'yarn' && factor === 1)) return { kind: 'none' };
    if (kind === undefined || kind === 'linear') return { kind: 'linear', factor };
    if (kind !== 'yarn') fail('MODEL_CONFIG', { key, found: kind, expected: 'none, linear or yarn' });
    const extrapolation = this.real('rope.scaling.yarn_ext_factor', 1);
    return {
      kind,
      factor,
      originalContext: this.count('rope.scaling.original_context_length', trainedContext),
      extrapolation: extrapolation < 0 ? 1 : extrapolation,
      attention: this.real('rope.scaling.attn_factor', 1, true),
      betaFast: this.real('rope.scaling.yarn_beta_fast', 32),
      betaSlow: this.real('rope.scaling.yarn_beta_slow', 1),
    };
  }
}
