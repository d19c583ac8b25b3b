import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { serveStatic } from '@hono/node-server/serve-static';
import { Hono } from 'hono';
import type { PageFiles } from '../server/index.ts';

/**
 * The files of a folder with a page, for `ServerOptions.page`: undefined if there is no `index.html`. A page that runs
 * models shares memory between its threads, which browsers allow only on cross-origin isolated pages.
 */
export function pageFiles(root: string): PageFiles | undefined {
  if (!existsSync(join(root, 'index.html'))) return undefined;
  const files = serveStatic({ root });
  const app = new Hono().get('*', (context, next) => {
    context.header('cross-origin-opener-policy', 'same-origin');
    context.header('cross-origin-embedder-policy', 'require-corp');
    context.header('x-content-type-options', 'nosniff');
    return files(context, next);
  });
  app.onError((error) => {
    throw error;
  });
  return async (request) => {
    const response = await app.fetch(request);
    return response.status === 404 ? undefined : response;
  };
}
