import type { RequestContext } from '../request-context.ts';
import { getEndpoint, json } from '../endpoint.ts';
import { typedError } from '../error-response.ts';

/**
 * `GET /health`: 200 when ready; 503 while the first models load or are reloaded after their engine died, and during
 * shutdown.
 */
export const healthEndpoint = getEndpoint({
  path: '/health',
  summary: 'Tells whether the server is ready, and how far loading is.',
  isOpen: true,
  handle: health,
});

/** `GET /livez`: 200 as long as the process responds, when a restart would not help. */
export const livezEndpoint = getEndpoint({
  path: '/livez',
  summary: 'Tells that the server is alive, ready or not.',
  isOpen: true,
  handle: () => json({ status: 'alive' }),
});

function health({ server }: RequestContext): Response {
  if (server.isDraining()) return json({ status: 'draining' }, 503);
  const awaited = server.preloads
    .map((id) => server.pool.statusOf(id))
    .filter(({ progress, lost }) => lost !== undefined || (progress < 1 && !server.hasLoaded()));
  if (awaited.length === 0) return json({ status: 'ok' });
  const isLost = awaited.every(({ state, lost }) => lost && state !== 'loading');
  const models = awaited.map(({ id, state, progress, lost }) => ({
    id,
    state,
    progress,
    ...(lost && { lost: typedError(lost).code }),
  }));
  const done =
    server.preloads.length - awaited.length + awaited.reduce((sum, { progress }) => sum + progress, 0);
  const progress = done / server.preloads.length;
  return json({ status: isLost ? 'lost' : 'loading', progress, models }, 503);
}
