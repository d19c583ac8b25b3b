import { fail } from '../base/errors.ts';
import type { GgufMetadata } from '../gguf/metadata.ts';
import type { RopeParameters, RopeScaling } from '../ops/rope.ts';

/** What every model says of itself in its file's metadata; architectures add what they need. Widths count elements. */
export interface ModelConfig {
  readonly architecture: string;
  /** What a sequence leaves behind: a cache of all its positions, or a state of one size. */
  readonly memory: 'paged' | 'recurrent';
  readonly layers: number;
  /** Width of the residual stream. */
  readonly width: number;
  /** Positions that the model was trained for. */
  readonly trainedContext: number;
  /** How an encoder's rows become one vector; undefined for models that continue texts. Encoders give rows in the logits' place. */
  readonly pooling?: Pooling;
}

/** What of an encoder's rows makes up a text's vector: their mean, the first, the last, or each by itself. */
export type Pooling = 'mean' | 'first' | 'last' | 'none';

/** The values of `rope.scaling.type`; of `longrope` all is in the rotation factors. */
const ROPE_SCALINGS: readonly string[] = ['none', 'linear', 'yarn', 'longrope'];

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

  /** A count that may be missing or zero: then it is zero. */
  countOrZero(key: string): number {
    return this.real(key, 0) === 0 ? 0 : this.count(key);
  }

  /** A yes or no that may be missing. */
  flag(key: string, fallback: boolean): boolean {
    return this.metadata.boolean(`${this.architecture}.${key}`) ?? fallback;
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
    const attention = this.real('rope.scaling.attn_factor', 1, true);
    if (kind !== undefined && !ROPE_SCALINGS.includes(kind)) {
      fail('MODEL_CONFIG', { key, found: kind, expected: ROPE_SCALINGS.join(', ') });
    }
    if (kind !== 'yarn' && attention === 1) {
      return kind === 'none' || factor === 1 ? { kind: 'none' } : { kind: 'linear', factor };
    }
    // A magnitude without YaRN's ramp (Phi-3) is YaRN that extrapolates nothing.
    const extrapolation = kind === 'yarn' ? this.real('rope.scaling.yarn_ext_factor', 1) : 0;
    return {
      kind: 'yarn',
      factor: kind === 'none' ? 1 : factor,
      originalContext: this.count('rope.scaling.original_context_length', trainedContext),
      extrapolation: extrapolation < 0 ? 1 : extrapolation,
      attention,
      betaFast: this.real('rope.scaling.yarn_beta_fast', 32),
      betaSlow: this.real('rope.scaling.yarn_beta_slow', 1),
    };
  }
}
