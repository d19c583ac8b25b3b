import { RocmforgeError } from '../base/errors.ts';
import type { Caller } from './api-keys.ts';
import type { Endpoint } from './endpoint.ts';
import { errorBody } from './error-response.ts';
import type { RequestTerms, ServerContext } from './request-context.ts';

/** A request that is part of another one, or of a batch. */
export interface InnerRequest {
  readonly endpoint: Endpoint;
  /** A value that is sent as JSON. */
  readonly body: unknown;
  readonly caller: Caller;
  readonly terms?: Omit<RequestTerms, 'onEnd'>;
}

/** The answer to an inner request: the status, and the body as JSON text. */
export interface InnerAnswer {
  readonly status: number;
  readonly body: string;
  readonly requestId: string;
}

/** Answers a request without a connection; errors are answers, too. A stream is refused. Never rejects. */
export async function answerInner(
  server: ServerContext,
  { endpoint, body, caller, terms = {} }: InnerRequest,
  signal: AbortSignal,
): Promise<InnerAnswer> {
  const request = new Request(`http://server${endpoint.path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body ?? null),
  });
  const call = server.begin(endpoint, request, terms);
  call.identify(caller);
  const stop = () => call.abort();
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  try {
    refuseStreams(body);
    const response = await endpoint.handle(call);
    const text = await response.text();
    call.end(response.status);
    return { status: response.status, body: text, requestId: call.id };
  } catch (error) {
    const typed = call.errorOf(error);
    call.end(typed.status);
    const told = JSON.stringify(errorBody(typed, endpoint.dialect, call.id));
    return { status: typed.status, body: told, requestId: call.id };
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function refuseStreams(body: unknown): void {
  const { stream, background } = (body ?? {}) as { stream?: unknown; background?: unknown };
  const field = stream ? 'stream' : background ? 'background' : undefined;
  if (field === undefined) return;
  throw new RocmforgeError('REQUEST_INVALID', { field, problem: 'among others, it is answered as a whole' });
}
