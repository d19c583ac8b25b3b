import { DEFAULT_SAMPLING, type SamplingParameters, validateSampling } from '../ops/index.ts';
import type { GenerateOptions } from './generate-options.ts';

/** How tokens are chosen, `masked` or not, with the defaults for what the options leave out. Throws `INVALID_ARGUMENT`. */
export function samplingOf(options: GenerateOptions, masked: boolean): SamplingParameters {
  const sampling: Record<string, unknown> = {};
  for (const [name, standard] of Object.entries(DEFAULT_SAMPLING)) {
    sampling[name] = options[name as keyof GenerateOptions] ?? standard;
  }
  const seed = options.seed ?? Math.floor(Math.random() * 2 ** 32);
  const parameters = {
    ...sampling,
    seed,
    masked,
  } as unknown as SamplingParameters;
  validateSampling(parameters);
  return parameters;
}
