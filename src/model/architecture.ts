import { fail } from '../base/errors.ts';
import type { GgufMetadata } from '../gguf/metadata.ts';
import type { ConfigReader } from './config-reader.ts';
import type { ModelConfig } from './model-config.ts';
import type { SyntheticFamily } from './synthetic-family.ts';

/**
 * A model family: what its files' metadata mean, as a composition of blocks. It computes nothing and knows no device; what the
 * composition records is told by its stack (`stacks/record-stack.ts`).
 */
export interface Architecture {
  /** The values of `general.architecture` it answers to. */
  readonly names: readonly string[];
  /**
   * Reads what the metadata say below the architecture's name, and composes the model of it. Throws `MODEL_CONFIG`.
   * @internal
   */
  configure(read: ConfigReader): ModelConfig;
  /**
   * What a made-up file of it says and has beyond what those of all families do: for `rocmforge synth`, and for tests.
   * @internal
   */
  readonly synthetic: SyntheticFamily;
}

/** Finds the architecture of a file. Throws `ARCHITECTURE_UNKNOWN` with the known names. */
export function architectureOf(metadata: GgufMetadata, known: readonly Architecture[]): Architecture {
  const found = metadata.string('general.architecture') ?? 'nothing';
  const architecture = known.find((candidate) => candidate.names.includes(found));
  if (architecture) return architecture;
  fail('ARCHITECTURE_UNKNOWN', { found, known: known.flatMap(({ names }) => names).join(', ') });
}
