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

const DIFFUSION = 'a model that writes a text by diffusion instead of token by token';
const SPEECH = 'a model that makes sound';
const IMAGES = 'a model that texts alone do not run';

/** Kinds of models that llama.cpp's files name and that are none of the kinds computed here. */
const OTHER_KINDS: ReadonlyMap<string, string> = new Map([
  ['t5', 'a model of an encoder and a decoder'],
  ['t5encoder', 'the encoder of a model of an encoder and a decoder'],
  ['dream', DIFFUSION],
  ['llada', DIFFUSION],
  ['llada-moe', DIFFUSION],
  ['rnd1', DIFFUSION],
  ['chameleon', IMAGES],
  ['cogvlm', IMAGES],
  ['deepseek2-ocr', IMAGES],
  ['wavtokenizer-dec', SPEECH],
  ['qwen3tts', SPEECH],
  ['pockettts', SPEECH],
  ['clip', 'the projector of a model for images or sound (mmproj): open the file of the model itself'],
  ['eagle3', 'a draft: open the model that it was made for, with this file as its draft (`--draft`)'],
  [
    'gemma4-assistant',
    'a draft: open the model that it was made for, with this file as its draft (`--draft`)',
  ],
  ['dflash', 'a draft: open the model that it was made for, with this file as its draft (`--draft`)'],
  ['qwen4exp', 'a model whose hyper-connections and hashed n-grams are not computed'],
  ['dots3note', 'a model whose latent attention with windows is not computed'],
  ['minimax-01', 'a model whose lightning attention is not computed'],
  ['grovemoe', 'a model whose experts in groups with a common expert each are not computed'],
  ['nanbeige', 'a model that repeats its layers, which is not computed'],
  ['hrm_text', 'a model that repeats its layers, which is not computed'],
  ['graniteswitch', 'a model that chooses its adapters token by token, which is not computed'],
  ['gptj', 'a model whose files llama.cpp does not run either'],
]);

/** Finds the architecture of a file. Throws `ARCHITECTURE_UNKNOWN`, which lists the known names. */
export function architectureOf(
  metadata: Pick<GgufMetadata, 'string'>,
  known: readonly Architecture[],
): Architecture {
  const found = metadata.string('general.architecture') ?? 'nothing';
  const architecture = known.find((candidate) => candidate.names.includes(found));
  if (architecture) return architecture;
  const names = known.flatMap((candidate) => candidate.names).join(', ');
  fail('ARCHITECTURE_UNKNOWN', { found, why: OTHER_KINDS.get(found), known: names });
}
