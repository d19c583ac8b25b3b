import type { SamplingParameters } from './sampling-row.ts';

/** The samplers of a chain by llama.cpp's names, in their usual order. */
export const SAMPLERS = [
  'penalties',
  'dry',
  'top_n_sigma',
  'top_k',
  'typ_p',
  'top_p',
  'min_p',
  'xtc',
  'temperature',
  'adaptive_p',
] as const;

/** A sampler's name. */
export type SamplerName = (typeof SAMPLERS)[number];

/** The parameters with which each of the device's samplers does nothing. */
export const OFF: Readonly<Partial<Record<SamplerName, Partial<SamplingParameters>>>> = {
  penalties: { repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0 },
  top_n_sigma: { topNSigma: 0 },
  top_k: { topK: 0 },
  typ_p: { typicalP: 1 },
  top_p: { topP: 1 },
  min_p: { minP: 0 },
  xtc: { xtcProbability: 0 },
  temperature: { temperature: 1, dynatempRange: 0 },
};

/** Other names of samplers. */
const ALIASES: Readonly<Record<string, SamplerName>> = {
  nucleus: 'top_p',
  temp: 'temperature',
  typ: 'typ_p',
  typical: 'typ_p',
  typical_p: 'typ_p',
};

/** llama.cpp's letters for samplers. */
const LETTERS: Readonly<Record<string, SamplerName>> = {
  e: 'penalties',
  d: 'dry',
  s: 'top_n_sigma',
  k: 'top_k',
  y: 'typ_p',
  p: 'top_p',
  m: 'min_p',
  x: 'xtc',
  t: 'temperature',
  a: 'adaptive_p',
};

/** The sampler of a name, which may have dashes, or of one of llama.cpp's letters; undefined for others. */
export function samplerNamed(text: string): SamplerName | undefined {
  const name = text.trim().toLowerCase().replaceAll('-', '_');
  return SAMPLERS.find((known) => known === name) ?? ALIASES[name] ?? LETTERS[text];
}

/** Whether the samplers are among the device's, each at most once and in the usual order. */
export function isUsualOrder(samplers: readonly SamplerName[]): boolean {
  const places = samplers.map((name) => SAMPLERS.indexOf(name));
  return (
    !samplers.includes('adaptive_p') &&
    places.every((place, at) => at === 0 || place > (places[at - 1] as number))
  );
}
