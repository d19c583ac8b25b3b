export { ModelServer } from '../server/index.ts';
export { HttpListener } from './http-listener.ts';
export { createLogger } from './logger.ts';
export { modelFilesIn, servedModels } from './model-files.ts';
export { PrometheusMetrics } from './prometheus-metrics.ts';
export { pageFiles } from './page-files.ts';
