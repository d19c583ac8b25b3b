/** `rocmforge/server`: the HTTP API as a function from requests to responses, for any platform. */
export type { TextModel } from '../engine/text-model.ts';
export type { ModelStatus } from '../server/model-pool.ts';
export {
  type AdapterFiles,
  type ApiKey,
  type BlobInfo,
  type BlobStore,
  type GenerationMetrics,
  type ModelDetails,
  type ModelFiles,
  type PageFiles,
  ModelServer,
  type PromptMetrics,
  type RequestMetrics,
  type ServedModel,
  type ServerGauges,
  type ServerMetrics,
  type RequestSpan,
  type ServerOptions,
  type ServerTracing,
  type SpanAttributes,
  type SpanTimes,
  type SamplingDefaults,
  type StateFiles,
  type TokenMetrics,
} from '../server/index.ts';
