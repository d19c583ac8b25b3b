import { fail } from '../base/errors.ts';
import type { GgufMetadata } from '../gguf/metadata.ts';
import type { ConfigReader } from './config-reader.ts';
import type { ModelConfig } from './model-config.ts';
import type { SyntheticFamily } from './synthetic-family.ts';

/**
 * A model architecture: interprets a file's metadata as a composition of blocks. It computes nothing and knows no
 * device; the composition's stack records the operators (`stacks/record-stack.ts`).
 */
export interface Architecture {
  /** The values of `general.architecture` that it handles. */
  readonly names: readonly string[];
  /**
   * Reads the metadata under the architecture's name and composes the model. Throws `MODEL_CONFIG`.
   * @internal
   */
  configure(read: ConfigReader): ModelConfig;
  /**
   * What a synthetic file of this architecture has beyond the common metadata and tensors: for `rocmforge synth`, and
   * for tests.
   * @internal
   */
  readonly synthetic: SyntheticFamily;
}

/** Finds the architecture of a file. Throws `ARCHITECTURE_UNKNOWN`, which lists the known names. */
export function architectureOf(metadata: GgufMetadata, known: readonly Architecture[]): Architecture {
  const found = metadata.string('general.architecture') ?? 'nothing';
  const architecture = known.find((candidate) => candidate.names.includes(found));
  if (architecture) return architecture;
  fail('ARCHITECTURE_UNKNOWN', { found, known: known.flatMap(({ names }) => names).join(', ') });
}
