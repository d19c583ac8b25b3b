import type { RequestContext } from '../request-context.ts';
import { getEndpoint, json } from '../endpoint.ts';

/** `GET /health`: 200 when requests are answered, 503 while the first models load and when the server shuts down. */
export const healthEndpoint = getEndpoint({
  path: '/health',
  summary: 'Tells whether the server is ready, and how far loading is.',
  isOpen: true,
  handle: health,
});

function health({ server }: RequestContext): Response {
  if (server.isDraining()) return json({ status: 'draining' }, 503);
  const awaited = server.preloads
    .map((id) => server.pool.statusOf(id))
    .filter(({ progress }) => progress < 1);
  if (awaited.length === 0 || server.hasLoaded()) return json({ status: 'ok' });
  const models = awaited.map(({ id, state, progress }) => ({ id, state, progress }));
  const done =
    server.preloads.length - awaited.length + awaited.reduce((sum, { progress }) => sum + progress, 0);
  return json({ status: 'loading', progress: done / server.preloads.length, models }, 503);
}
