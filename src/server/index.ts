/** The HTTP API as a function from requests to responses, for any platform. */
export { type ServedModel } from './model-pool.ts';
export type { ApiKey } from './tenant.ts';
export type { BlobInfo, BlobStore } from './storage/blob-store.ts';
export { errorResponse } from './error-response.ts';
export type { Connection, TextBody } from './event-stream.ts';
export { type ModelFetch, modelFetch, type ModelFetchOptions } from './model-fetch.ts';
export { ModelServer, type PageFiles, type ServerOptions } from './server.ts';
export type {
  GenerationMetrics,
  RequestMetrics,
  ServerGauges,
  PromptMetrics,
  ServerMetrics,
  TokenMetrics,
} from './metrics.ts';
export type { AdapterFiles } from './adapter-files.ts';
export type { ModelDetails } from './model-details.ts';
export type { ModelFiles } from './model-files.ts';
export type { SamplingDefaults } from './sampling-defaults.ts';
export type { StateFiles } from './state-files.ts';
export type { RequestSpan, ServerTracing, SpanAttributes, SpanTimes } from './tracing.ts';
