import { fail } from '../base/errors.ts';
import type { GgufMetadata } from '../gguf/metadata.ts';
import type { RopeParameters, RopeScaling } from '../ops/rope.ts';
import type { Pooling } from './pooling.ts';
import type { RopeOverrides } from './rope-overrides.ts';

/** The values of `rope.scaling.type`; `longrope` is defined by the rotation factors alone. */
const ROPE_SCALINGS: readonly string[] = ['none', 'linear', 'yarn', 'longrope'];

/** Reads values under `<architecture>.` and checks that they are usable. */
export class ConfigReader {
  /** The full names that were requested: the part of the metadata that is read. */
  readonly asked = new Set<string>();

  constructor(
    readonly metadata: GgufMetadata,
    readonly architecture: string,
    /** What was requested instead of the file's own settings. */
    readonly wanted: {
      readonly pooling?: Pooling | undefined;
      readonly rope?: RopeOverrides | undefined;
    } = {},
  ) {}

  /** A count that is required unless there is a fallback. Files may repeat it for each layer. */
  count(key: string, fallback?: number): number {
    const found = this.#stored(key) ?? fallback;
    if (found !== undefined && Number.isSafeInteger(found) && found > 0) return found;
    this.refuse(key, String(found ?? 'nothing'), 'a positive whole number');
  }

  /** A count that may be missing, which means zero. */
  countOrZero(key: string): number {
    return this.real(key, 0) === 0 ? 0 : this.count(key);
  }

  /** A boolean that may be missing. */
  flag(key: string, fallback: boolean): boolean {
    return this.metadata.boolean(this.#named(key)) ?? fallback;
  }

  /** A real number; if it is missing, or zero with `zeroIsMissing`, the fallback. */
  real(key: string, fallback?: number, zeroIsMissing = false): number {
    const stored = this.#stored(key);
    const found = stored === undefined || (zeroIsMissing && stored === 0) ? fallback : stored;
    if (found !== undefined && Number.isFinite(found)) return found;
    this.refuse(key, String(found ?? 'nothing'), 'a number');
  }

  /** A text that may be missing. */
  text(key: string): string | undefined {
    return this.metadata.string(this.#named(key));
  }

  /** A list of texts that may be missing. */
  texts(key: string): readonly string[] {
    return this.metadata.strings(this.#named(key)) ?? [];
  }

  /** A list of numbers that may be missing, of any length. */
  numbers(key: string): readonly number[] {
    return Array.from(this.metadata.numbers(this.#named(key)) ?? []);
  }

  /** A real number that may differ by layer: the file has one for all layers, one for each, or none. */
  reals(key: string, fallback: number): (layer: number) => number {
    if (!this.#isPerLayer(key)) {
      const same = this.real(key, fallback);
      return () => same;
    }
    const values = this.metadata.requireNumbers(this.#named(key));
    return (layer) => values[layer] as number;
  }

  /** Whether the file has this key. */
  has(key: string): boolean {
    return this.metadata.typeOf(this.#named(key)) !== undefined;
  }

  /** A count that may differ by layer: the file has one for all layers or one for each. */
  counts(key: string, fallback?: number | ((layer: number) => number)): (layer: number) => number {
    const name = this.#named(key);
    if (!this.#isPerLayer(key)) {
      if (typeof fallback === 'function' && this.metadata.number(name) === undefined) return fallback;
      const same = this.count(key, typeof fallback === 'function' ? undefined : fallback);
      return () => same;
    }
    return this.#countOfEach(key, 1);
  }

  /** A count that may differ by layer, 0 in layers that have none. */
  countsOrZero(key: string, fallback?: number | ((layer: number) => number)): (layer: number) => number {
    return this.#isPerLayer(key) ? this.#countOfEach(key, 0) : this.counts(key, fallback);
  }

  /**
   * Which layers have a sliding window, according to `attention.sliding_window_pattern`: all but the last (or the
   * first) of every so many, all of them (0), or each by its own value.
   */
  windowed(fallback: number, but: 'first' | 'last' = 'last'): (layer: number) => boolean {
    const key = 'attention.sliding_window_pattern';
    const name = this.#named(key);
    if (!this.#isPerLayer(key)) {
      const period = this.real(key, fallback);
      if (!Number.isSafeInteger(period) || period < 0) {
        this.refuse(key, String(period), 'a whole number that is not negative');
      }
      const whole = but === 'first' ? 0 : period - 1;
      return (layer) => period === 0 || layer % period !== whole;
    }
    return this.#flagOfEach(name);
  }

  /** A boolean per layer, or for each of the first `layers`; undefined if the file does not have this key. */
  layerFlags(key: string, layers?: number): ((layer: number) => boolean) | undefined {
    const name = this.#named(key);
    return this.#isPerLayer(key, layers) ? this.#flagOfEach(name) : undefined;
  }

  /** Whether positions have several coordinates with their own frequencies ("M-RoPE" of vision models). */
  hasCoordinates(): boolean {
    const [first = 0, second = 0] = Array.from(
      this.metadata.numbers(this.#named('rope.dimension_sections')) ?? [],
    );
    return first > 0 && second > 0;
  }

  /**
   * Refuses rotary sections that leave a pair without one of the three coordinates, which are the same in texts: sections
   * follow each other, again and again; with "interleaved M-RoPE", every third pair has the first coordinate as long as its
   * section lasts, and so on.
   */
  checkSections(dimensions: number, order: 'interleaved' | 'consecutive'): void {
    const key = 'rope.dimension_sections';
    const sections = Array.from(this.metadata.numbers(this.#named(key)) ?? []);
    if (sections.length === 0) return;
    const [all, three] = [sections, sections.slice(0, 3)].map((of) =>
      of.reduce((sum, size) => sum + size, 0),
    );
    const hasOne = (pair: number) =>
      order === 'interleaved' ? pair < 3 * (sections[pair % 3] ?? 0) : pair % (all ?? 0) < (three ?? 0);
    for (let pair = 0; pair < dimensions / 2; pair++) {
      if (hasOne(pair)) continue;
      this.refuse(key, sections.join(', '), `a coordinate for each of ${dimensions / 2} pairs`);
    }
  }

  /** Throws `MODEL_CONFIG` for a value that is inconsistent with others. */
  refuse(key: string, found: string, expected: string): never {
    fail('MODEL_CONFIG', { key: `${this.architecture}.${key}`, found, expected });
  }

  /**
   * RoPE of `dimensions` values per head according to `rope.*` and to what was requested instead; a scaling factor of 0
   * or 1 means no scaling.
   */
  rope(dimensions: number, trainedContext: number): RopeParameters {
    const { rope = {} } = this.wanted;
    const base = rope.base ?? this.real('rope.freq_base', 10000, true);
    return { dimensions, base, scaling: this.#ropeScaling(trainedContext, rope) };
  }

  /** The same with the file's own base and factor, whatever was requested. */
  fileRope(dimensions: number, trainedContext: number): RopeParameters {
    const base = this.real('rope.freq_base', 10000, true);
    const overrides = { ...this.wanted.rope, scale: undefined };
    return { dimensions, base, scaling: this.#ropeScaling(trainedContext, overrides) };
  }

  /** The full name of a key, which is then marked as read. */
  #named(key: string): string {
    const name = `${this.architecture}.${key}`;
    this.asked.add(name);
    return name;
  }

  /** A number, or the common value of an array: llama.cpp accepts both for values that may differ by layer. */
  #stored(key: string): number | undefined {
    const name = this.#named(key);
    if (!this.#isPerLayer(key)) return this.metadata.number(name);
    const values = this.metadata.requireNumbers(name);
    for (let layer = 1; layer < values.length; layer++) {
      if (values[layer] === values[0]) continue;
      this.refuse(key, `${values[0]} and ${values[layer]}`, 'one value for all layers');
    }
    return values[0];
  }

  #countOfEach(key: string, least: 0 | 1): (layer: number) => number {
    const values = this.metadata.requireNumbers(this.#named(key));
    const expected = least === 1 ? 'positive whole numbers' : 'whole numbers, 0 or more';
    for (const value of Array.from(values)) {
      if (!Number.isSafeInteger(value) || value < least) this.refuse(key, `${value}`, expected);
    }
    return (layer) => values[layer] as number;
  }

  /** Booleans, or numbers with 0 for false. */
  #flagOfEach(name: string): (layer: number) => boolean {
    const values =
      this.metadata.typeOf(name) === 'bool[]'
        ? (this.metadata.booleans(name) ?? [])
        : this.metadata.requireNumbers(name);
    return (layer) => Boolean(values[layer]);
  }

  /** Whether the file has exactly one value per layer, including layers for multi-token prediction. */
  #isPerLayer(key: string, of?: number): boolean {
    const length = this.metadata.lengthOf(`${this.architecture}.${key}`);
    if (length === undefined) return false;
    // Not `count`, which would recurse if the number of layers is itself an array.
    const layers = of ?? this.metadata.requireNumber(`${this.architecture}.block_count`);
    if (length !== layers) this.refuse(key, `${length} values`, `one for each of ${layers} layers`);
    return true;
  }

  #ropeScaling(trainedContext: number, wanted: RopeOverrides): RopeScaling {
    const key = 'rope.scaling.type';
    const stored = this.metadata.string(this.#named(key));
    if (stored !== undefined && !ROPE_SCALINGS.includes(stored)) {
      this.refuse(key, stored, ROPE_SCALINGS.join(', '));
    }
    const kind = wanted.scaling ?? stored;
    const legacy = this.metadata.number(this.#named('rope.scale_linear'));
    const factor = wanted.scale ?? this.real('rope.scaling.factor', legacy ?? 1, true);
    const attention = (wanted.attention ?? 1) * this.real('rope.scaling.attn_factor', 1, true);
    const isYarn = kind === 'yarn' || (wanted.extrapolation ?? 0) > 0;
    if (!isYarn && attention === 1) {
      return kind === 'none' || factor === 1 ? { kind: 'none' } : { kind: 'linear', factor };
    }
    // A magnitude without YaRN's ramp (Phi-3) is YaRN without extrapolation.
    const ramp = kind === 'yarn' ? 1 : 0;
    const originalContext = this.count('rope.scaling.original_context_length', trainedContext);
    const betaFast = this.real('rope.scaling.yarn_beta_fast', 32);
    const betaSlow = this.real('rope.scaling.yarn_beta_slow', 1);
    return {
      kind: 'yarn',
      factor: kind === 'none' ? 1 : factor,
      originalContext: wanted.originalContext ?? originalContext,
      extrapolation: wanted.extrapolation ?? ramp,
      attention,
      betaFast: wanted.betaFast ?? betaFast,
      betaSlow: wanted.betaSlow ?? betaSlow,
    };
  }
}
