import type { GgufMetadata } from '../gguf/index.ts';
import { type SamplerName, samplerNamed } from '../ops/index.ts';
import type { GenerateOptions } from './generate-options.ts';

/** Options by the names of their numbers in a file's metadata, behind `general.sampling.`. */
const NUMBERS = {
  temp: 'temperature',
  top_k: 'topK',
  top_p: 'topP',
  min_p: 'minP',
  xtc_probability: 'xtcProbability',
  xtc_threshold: 'xtcThreshold',
  penalty_last_n: 'penaltyWindow',
  penalty_repeat: 'repeatPenalty',
  mirostat: 'mirostat',
  mirostat_tau: 'mirostatTau',
  mirostat_eta: 'mirostatEta',
} as const satisfies Readonly<Record<string, keyof GenerateOptions>>;

/**
 * The sampling that a file's metadata recommends (`general.sampling.*`, as llama.cpp writes it), as defaults of a model's texts.
 * Throws `GGUF_…` errors of the metadata.
 */
export function recommendedSampling(metadata: GgufMetadata): GenerateOptions {
  const numbers = Object.entries(NUMBERS).flatMap(([name, option]) => {
    const value = metadata.number(`general.sampling.${name}`);
    return value === undefined ? [] : [[option, value] as const];
  });
  const samplers = samplersOf(metadata.string('general.sampling.sequence'));
  return { ...Object.fromEntries(numbers), ...(samplers && { samplers }) };
}

/** The samplers of a sequence, whose names are separated by semicolons; undefined if one is unknown. */
function samplersOf(text: string | undefined): SamplerName[] | undefined {
  const names = text?.split(';').map(samplerNamed);
  const known = names?.filter((name) => name !== undefined);
  return known?.length === names?.length ? known : undefined;
}
