export * from './attention.ts';
export * from './causal-conv.ts';
export * from './choose-positions.ts';
export * from './collectives.ts';
export * from './compressed-cells.ts';
export * from './concat.ts';
export type { Cost, CostContext } from './cost.ts';
export * from './elementwise.ts';
export * from './embed.ts';
export * from './experts/combine-experts.ts';
export * from './experts/matmul-experts.ts';
export * from './experts/route-experts.ts';
export * from './experts/scale-experts.ts';
export { MIN_WEIGHT_SUM, type RoutingInputs, RowRouter } from './experts/route-row.ts';
export * from './gated-delta.ts';
export * from './gaussian-top-k.ts';
export { GraphBuilder, type OpGraph, type Output } from './graph.ts';
export * from './group-norm.ts';
export * from './hadamard.ts';
export * from './index-scores.ts';
export * from './lerp.ts';
export * from './matmul.ts';
export * from './matmul-heads.ts';
export * from './norm.ts';
export { decodesApart, type PagedCache } from './paged-cache.ts';
export { costOf, type Op, type OpKind, type OpTable, operandsOf, resultsOf } from './op.ts';
export * from './rope.ts';
export * from './rows.ts';
export * from './sample.ts';
export { areValidLogits, NO_TOKEN } from './sampling/no-token.ts';
export type { RowLogits } from './sampling/adjust-logits.ts';
export { type BlockMaxima, MAXIMA_BLOCK } from './sampling/block-maxima.ts';
export { type SampleRow, sampleRow } from './sampling/sample-row.ts';
export { NO_TOKEN_NAMES, SAMPLING_WORD_NAMES } from './sampling/sampling-names.ts';
export {
  DEFAULT_SAMPLING,
  MAX_LOG_PROBABILITIES,
  MAX_LOGIT_BIASES,
  maskWords,
  readSamplingRow,
  SAMPLING_ROW_WORDS,
  SAMPLING_WORD,
  type SamplingNumberName,
  type Rule,
  seedOf,
  type SamplingParameters,
  MAX_DRY_PENALTIES,
  writeDryPenalties,
  writeSamplingRow,
} from './sampling/sampling-row.ts';
export { type DryBreakers, type DryParameters, dryPenalties } from './sampling/dry.ts';
export {
  type ChainParameters,
  DEFAULT_HOST_SAMPLING,
  type HostNumbers,
  SAMPLING_OPTIONS,
  type SamplingOption,
} from './sampling/host-sampling.ts';
export { type ChainRow, type ChainScore, type ChainToken, SamplerChain } from './sampling/sampler-chain.ts';
export { isUsualOrder, OFF, type SamplerName, samplerNamed, SAMPLERS } from './sampling/samplers.ts';
export { SamplingScratch } from './sampling/sampling-scratch.ts';
export { validateHostSampling, validateSampling } from './sampling/validate-sampling.ts';
export * from './selective-scan.ts';
export * from './stream-shares.ts';
export * from './slice.ts';
export * from './state-blocks.ts';
export * from './token-shift.ts';
export * from './value.ts';
export * from './wkv7.ts';
