import type { MiddlewareHandler } from 'hono';

/** Methods that pages may use. */
const METHODS = 'GET, POST, DELETE, OPTIONS';

/** Seconds that a browser may remember the answer to a preflight request. */
const MAX_AGE_SECONDS = 600;

/** Origins on this machine: `localhost` among the allowed ones stands for all of them, on any port. */
const LOCAL = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/;

/** Whether pages of an origin may use the server. `*` allows all, `localhost` those of this machine. */
export function allows(allowed: readonly string[], origin: string): boolean {
  if (allowed.includes('*') || allowed.includes(origin)) return true;
  return allowed.includes('localhost') && LOCAL.test(origin);
}

/**
 * CORS (the Fetch standard): lets pages of the allowed origins read responses, and answers preflight requests. An
 * allowed origin is named in the response; others get no header, so that browsers keep the response from them.
 */
export function crossOrigin(allowed: readonly string[], exposed: readonly string[]): MiddlewareHandler {
  return async (context, next) => {
    const { req } = context;
    const origin = req.header('origin');
    const isPreflight = req.method === 'OPTIONS' && req.header('access-control-request-method') !== undefined;
    if (origin === undefined) return next();
    const headers = allows(allowed, origin) ? allowing(origin, exposed) : new Headers();
    headers.set('vary', 'Origin');
    if (isPreflight) {
      if (headers.has('access-control-allow-origin')) {
        headers.set('access-control-allow-methods', METHODS);
        // `*` would not cover Authorization.
        headers.set('access-control-allow-headers', req.header('access-control-request-headers') ?? '*');
        headers.set('access-control-max-age', String(MAX_AGE_SECONDS));
      }
      return new Response(null, { status: 200, headers });
    }
    await next();
    for (const [name, value] of headers) context.res.headers.append(name, value);
    return undefined;
  };
}

function allowing(origin: string, exposed: readonly string[]): Headers {
  return new Headers({
    'access-control-allow-origin': origin,
    'access-control-expose-headers': exposed.join(','),
  });
}
