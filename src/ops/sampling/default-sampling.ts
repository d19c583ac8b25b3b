import type { SamplingParameters } from './sampling-row.ts';

/** What chat front ends use as a rule. A fresh seed is the caller's to choose. */
export const DEFAULT_SAMPLING: SamplingParameters = {
  temperature: 0.8,
  topK: 40,
  topP: 0.95,
  minP: 0.05,
  typicalP: 1,
  repeatPenalty: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  penaltyWindow: 64,
  seed: 0,
  logProbabilities: -1,
  logitBias: new Map(),
  masked: false,
};
