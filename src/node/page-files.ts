import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serveStatic } from '@hono/node-server/serve-static';
import { Hono } from 'hono';
import type { PageFiles } from '../server/index.ts';

/** The page's own policy, which it also has where it is served without this header. */
const OWN_POLICY = /http-equiv="Content-Security-Policy"\s+content="([^"]*)"/;

/** What only a header can say: no other page may show this one in a frame. */
const FRAMING = "frame-ancestors 'none'";
/** The document for what models write: the page may show it, and it has an origin of its own wherever it is opened. */
const SANDBOX = 'sandbox.html';
const SANDBOX_FRAMING = "frame-ancestors 'self'; sandbox allow-scripts";

/**
 * The files of a folder with a page, for `ServerOptions.page`: undefined if there is no `index.html`. A page that runs
 * models shares memory between its threads, which browsers allow only on cross-origin isolated pages. Its documents have
 * their Content-Security-Policy as a header, too. What the page's own `models/` lacks comes from the folder `models`: the
 * published package has its model once.
 */
export function pageFiles(root: string, models?: string): PageFiles | undefined {
  if (!existsSync(join(root, 'index.html'))) return undefined;
  const policy = policyOf(join(root, 'index.html'), FRAMING);
  const sandboxPolicy = policyOf(join(root, SANDBOX), SANDBOX_FRAMING);
  const files = serveStatic({ root });
  const app = new Hono().get('*', (context, next) => {
    context.header('cross-origin-opener-policy', 'same-origin');
    context.header('cross-origin-embedder-policy', 'require-corp');
    context.header('x-content-type-options', 'nosniff');
    return files(context, next);
  });
  app.get('/bench', (context) => context.redirect('./bench.html'));
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
    const isSandbox = new URL(request.url).pathname === `/${SANDBOX}`;
    if (isDocument) response.headers.set('content-security-policy', isSandbox ? sandboxPolicy : policy);
    return response;
  };
}

/** A document's own policy with that of its frames. */
function policyOf(path: string, framing: string): string {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const [, own] = OWN_POLICY.exec(text) ?? [];
  return own === undefined ? framing : `${own}; ${framing}`;
}
