import type { RequestContext } from '../request-context.ts';
import { getEndpoint } from '../endpoint.ts';

/** `GET /metrics`: the server's metrics for Prometheus. */
export const metricsEndpoint = getEndpoint({
  path: '/metrics',
  summary: 'Counters, gauges and histograms in Prometheus’ text format.',
  handle: metrics,
});

async function metrics({ server }: RequestContext): Promise<Response> {
  const gauges = { models: server.pool.list(), activeRequests: server.gate.active };
  const { contentType, text } = await server.metrics.exposition(gauges);
  const started = Math.floor((Date.now() - performance.now()) / 1000);
  const headers = { 'content-type': contentType, 'process-start-time-unix': String(started) };
  return new Response(text, { headers });
}
