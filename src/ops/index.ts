export * from './attention.ts';
export type { Cost, CostContext } from './cost.ts';
export * from './elementwise.ts';
export * from './embed.ts';
export { GraphBuilder, type OpGraph, type Output } from './graph.ts';
export * from './matmul.ts';
export * from './norm.ts';
export { costOf, type Op, type OpKind, operandsOf, resultsOf } from './op.ts';
export * from './rope.ts';
export * from './rows.ts';
export * from './sample.ts';
export {
  MAX_LOGIT_BIASES,
  readSamplingRow,
  SAMPLING_ROW_WORDS,
  type SamplingParameters,
  writeSamplingRow,
} from './sampling/sampling-row.ts';
export * from './value.ts';
