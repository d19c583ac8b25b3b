import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serveStatic } from '@hono/node-server/serve-static';
import { Hono } from 'hono';
import type { PageFiles } from '../server/index.ts';

/** The page's own policy, which it also has where it is served without this header. */
const OWN_POLICY = /http-equiv="Content-Security-Policy"\s+content="([^"]*)"/;

/** What only a header can say: no other page may show this one in a frame. */
const FRAMING = "frame-ancestors 'none'";

/**
 * The files of a folder with a page, for `ServerOptions.page`: undefined if there is no `index.html`. A page that runs
 * models shares memory between its threads, which browsers allow only on cross-origin isolated pages. Its documents have
 * their Content-Security-Policy as a header, too. What the page's own `models/` lacks comes from the folder `models`: the
 * published package has its model once.
 */
export function pageFiles(root: string, models?: string): PageFiles | undefined {
  const index = join(root, 'index.html');
  if (!existsSync(index)) return undefined;
  const [, own] = OWN_POLICY.exec(readFileSync(index, 'utf8')) ?? [];
  const policy = own === undefined ? FRAMING : `${own}; ${FRAMING}`;
  const files = serveStatic({ root });
  const app = new Hono().get('*', (context, next) => {
    context.header('cross-origin-opener-policy', 'same-origin');
    context.header('cross-origin-embedder-policy', 'require-corp');
    context.header('x-content-type-options', 'nosniff');
    return files(context, next);
  });
  if (models !== undefined) {
    const rewriteRequestPath = (path: string) => path.replace(/^\/models/, '');
    app.get('/models/*', serveStatic({ root: models, rewriteRequestPath }));
  }
  app.onError((error) => {
    throw error;
  });
  return async (request) => {
    const response = await app.fetch(request);
    if (response.status === 404) return undefined;
    // Workers have policies of their own: that of the page would keep the engine from starting its threads.
    const isDocument = response.headers.get('content-type')?.startsWith('text/html') ?? false;
    if (isDocument) response.headers.set('content-security-policy', policy);
    return response;
  };
}
