import { type GenerateOptions, samplingOf } from '../engine/generate-options.ts';
import type { TextModel } from '../engine/text-model.ts';
import { SAMPLERS, SAMPLING_OPTIONS, type SamplingOption } from '../ops/index.ts';
import { snakeCase } from './fields/field-names.ts';

/** Sampling options that a server sets for requests that say nothing else. */
export type SamplingDefaults = Pick<
  GenerateOptions,
  SamplingOption['name'] | 'samplers' | 'drySequenceBreakers' | 'logitBias' | 'seed'
>;

/** llama.cpp's number for a seed that is chosen anew for each text. */
const FRESH_SEED = 0xffff_ffff;

/** The defaults of a model's texts on a server, by the names of request fields. */
export function defaultFields(model: TextModel, server: SamplingDefaults): object {
  const given = { ...model.recommendedSampling, ...server };
  const numbers = SAMPLING_OPTIONS.map(({ name, standard }) => [snakeCase(name), given[name] ?? standard]);
  const { seed = FRESH_SEED, samplers = SAMPLERS.slice(0, -1) } = given;
  return { ...Object.fromEntries(numbers), seed, samplers };
}

/** The defaults without those that are undefined. Throws `INVALID_ARGUMENT`. */
export function checkedSampling(given: SamplingDefaults): SamplingDefaults {
  const defaults = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  samplingOf(defaults, false);
  return defaults;
}
