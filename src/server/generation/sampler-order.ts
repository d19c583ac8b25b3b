import { z } from 'zod';
import { listOf } from '../fields/list-of.ts';
import type { GenerateOptions } from '../../engine/generate-options.ts';
import { invalid } from '../endpoint.ts';

/** The sampling stages by llama.cpp's names, in order, and the options that disable each. */
const STAGES: readonly (readonly [names: readonly string[], off: Partial<GenerateOptions>])[] = [
  [['penalties'], { repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0 }],
  [['top_n_sigma'], { topNSigma: 0 }],
  [['top_k'], { topK: 0 }],
  [['typ_p', 'typical_p'], { typicalP: 1 }],
  [['top_p'], { topP: 1 }],
  [['min_p'], { minP: 0 }],
  [['xtc'], { xtcProbability: 0 }],
  [['temperature'], { temperature: 1, dynatempRange: 0 }],
];

/** Known stages that are not implemented; they may be named, because they are off. */
const ABSENT: ReadonlySet<string> = new Set(['dry', 'infill']);

/** The maximum number of stages in a request. */
const MAX_STAGES = 64;

/** `samplers` of llama.cpp's server. */
export const samplersField = listOf(z.string(), { max: MAX_STAGES })
  .nullish()
  .describe('The stages that choose a token; others are off. They run in one order, which is llama.cpp’s.');

/**
 * The options that disable the stages that a request does not name. Throws `REQUEST_INVALID` for stages in another
 * order.
 */
export function withoutStages(samplers: z.output<typeof samplersField>): Partial<GenerateOptions> {
  if (!samplers) return {};
  const places = samplers
    .filter((name) => !ABSENT.has(name))
    .map((name) => STAGES.findIndex(([names]) => names.includes(name)));
  const unknown = samplers.find(
    (name) => !ABSENT.has(name) && !STAGES.some(([names]) => names.includes(name)),
  );
  if (unknown !== undefined) invalid('samplers', `there is no stage ${unknown}`);
  if (places.some((place, at) => at > 0 && place <= (places[at - 1] as number))) {
    invalid('samplers', `the stages run in this order: ${STAGES.map(([[name]]) => name).join(', ')}`);
  }
  return Object.assign({}, ...STAGES.filter((_, at) => !places.includes(at)).map(([, off]) => off)) as object;
}
