/** `rocmforge/server`: the HTTP API as a function from requests to responses, for any platform. */
export type { TextModel } from '../engine/text-model.ts';
export type { ModelStatus } from '../server/model-pool.ts';
export {
  type ApiKey,
  type GenerationFigures,
  ModelServer,
  type RequestFigures,
  type ServedModel,
  type ServerGauges,
  type ServerMetrics,
  type ServerOptions,
} from '../server/index.ts';
