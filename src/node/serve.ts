/** `rocmforge/serve`: what serving models over HTTP in Node needs: a socket, key files, model files, a page. */
export { AdapterFolder } from './adapter-folder.ts';
export { ModelServer } from '../server/index.ts';
export { HttpListener, type ListenOptions } from './http-listener.ts';
export type { WorkerModelOptions } from './open-engine.ts';
export type { KvEventEncoding } from './block-event-batch.ts';
export { FolderBlobs } from './folder-blobs.ts';
export { type KvEventOptions, KvEventPublisher } from './kv-event-publisher.ts';
export { keysInFile } from './key-file.ts';
export { createLogger } from './logger.ts';
export { modelFilesIn, namedLocation, servedModels } from './model-files.ts';
export { ModelFolder } from './model-folder.ts';
export { type OtlpOptions, OtlpTracing } from './otlp-tracing.ts';
export { PrometheusMetrics } from './prometheus-metrics.ts';
export { StateFolder } from './state-folder.ts';
export { pageFiles } from './page-files.ts';
