import type { z } from 'zod';
import { fail, isRocmforgeError, type RocmforgeError } from '../base/errors.ts';
import { inTurns } from '../base/turns.ts';
import { BodyScan } from './body-scan.ts';
import { allows } from './cross-origin.ts';
import type { RequestContext } from './request-context.ts';
import type { ErrorDialect } from './error-response.ts';
import type { OtherFields } from './fields/other-fields.ts';
import { unreadFields } from './fields/unread-fields.ts';

/** Decodes whole texts, one independent of the other. */
const UTF_8 = new TextDecoder();

/** A path of the server with its handler. The OpenAPI document is generated from these. */
export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** The path as OpenAPI writes it: `/v1/models/{model}`. */
  readonly path: string;
  readonly summary: string;
  readonly dialect: ErrorDialect;
  /** Answers without an API key. */
  readonly isOpen: boolean;
  /** The schema of the query. */
  readonly query?: z.ZodObject;
  /** The schema of the body. */
  readonly body?: z.ZodType;
  /** Known fields that it does not support, with reasons. */
  readonly others?: OtherFields;
  handle(call: RequestContext): Promise<Response>;
}

/** What an endpoint without a body is. */
interface BareEndpoint {
  readonly path: string;
  readonly summary: string;
  readonly dialect?: ErrorDialect;
  readonly isOpen?: boolean;
  readonly query?: z.ZodObject;
  readonly handle: (call: RequestContext) => Response | Promise<Response>;
}

/** An endpoint that reads something. */
export function getEndpoint(of: BareEndpoint): Endpoint {
  const handle = async (call: RequestContext) => of.handle(call);
  return { method: 'GET', dialect: 'openai', isOpen: false, ...of, handle };
}

/** An endpoint that removes something. */
export function deleteEndpoint(of: BareEndpoint): Endpoint {
  return { ...getEndpoint(of), method: 'DELETE' };
}

/**
 * An endpoint that does something and takes no JSON. Browsers let any page send such requests, so those of unknown pages
 * are refused.
 */
export function actionEndpoint(of: BareEndpoint): Endpoint {
  const handle = async (call: RequestContext) => {
    refuseForeignPage(call);
    return of.handle(call);
  };
  return { ...getEndpoint(of), method: 'POST', handle };
}

/** Throws `ORIGIN_FORBIDDEN` for a request of a web page that is neither the server's own nor allowed. */
function refuseForeignPage({ request: { headers, url }, server: { origins } }: RequestContext): void {
  const origin = headers.get('origin');
  if (origin === null || allows(origins, origin)) return;
  if (URL.canParse(origin) && new URL(origin).host === new URL(url).host) return;
  fail('ORIGIN_FORBIDDEN', { origin: origin.slice(0, 200) });
}

/** An endpoint that takes JSON. The body is validated against the schema before anything else happens. */
export function postEndpoint<T extends z.ZodType>(of: {
  path: string;
  summary: string;
  dialect?: ErrorDialect;
  body: T;
  /** Known fields that the body does not support, with reasons. */
  others?: OtherFields;
  handle: (body: z.output<T>, call: RequestContext) => Response | Promise<Response>;
}): Endpoint {
  return {
    method: 'POST',
    dialect: 'openai',
    isOpen: false,
    ...of,
    handle: async (call) => of.handle(checkedBody(call, await jsonOf(call), of), call),
  };
}

/** Rejects with `REQUEST_NOT_JSON`, `REQUEST_TOO_LARGE` and `REQUEST_INVALID`. No body at all is an empty object. */
async function jsonOf(call: RequestContext): Promise<unknown> {
  const { request } = call;
  const { maxBody } = call.server;
  const type = request.headers.get('content-type');
  const isBare = type === null && hasNoBody(call);
  if (isBare) refuseForeignPage(call);
  else if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type ?? '')) {
    fail('REQUEST_NOT_JSON', { found: type ?? 'none' });
  }
  const text = await scannedText(call, maxBody);
  return isBare && text === '' ? {} : parsed(text);
}

function hasNoBody({ body, request: { headers } }: RequestContext): boolean {
  const isEmpty = (headers.get('content-length') ?? '0') === '0' && !headers.has('transfer-encoding');
  return isEmpty || !body;
}

/** A body as its schema reads it; what nobody reads is reported. Throws `REQUEST_INVALID`. */
function checkedBody<T extends z.ZodType>(
  call: RequestContext,
  body: unknown,
  { body: schema, others = {} }: { body: T; others?: OtherFields },
): z.output<T> {
  const result = schema.safeParse(body);
  if (result.success) {
    call.reportIgnored(unreadFields(body, result.data, others));
    return result.data;
  }
  const [issue] = result.error.issues;
  return invalid(issue?.path.map(String).join('.') ?? '', issue?.message ?? 'is not valid');
}

/** A body's text, scanned while it arrives. Rejects with `REQUEST_TOO_LARGE`, `REQUEST_INVALID` and `ABORTED`. */
async function scannedText(
  { body, request: { headers }, signal }: RequestContext,
  maxBody: number,
): Promise<string> {
  if (Number(headers.get('content-length')) > maxBody) fail('REQUEST_TOO_LARGE', { limit: maxBody });
  if (!body) return '';
  let length = 0;
  let refused: RocmforgeError | undefined;
  const scan = new BodyScan();
  const pieces: Uint8Array[] = [];
  for await (const bytes of body) {
    length += bytes.length;
    if (length > maxBody) fail('REQUEST_TOO_LARGE', { limit: maxBody });
    // A client that gets its response before it has sent everything may never read it.
    if (refused) continue;
    try {
      await inTurns(scan.take(bytes), 'reading the request', signal);
    } catch (error) {
      if (!isRocmforgeError(error, 'REQUEST_INVALID')) throw error;
      refused = error;
    }
    pieces.push(bytes);
  }
  if (refused) throw refused;
  const [only = new Uint8Array()] = pieces;
  // Most bodies come in one piece. A decoder that takes several is slow to make.
  return UTF_8.decode(pieces.length > 1 ? joined(pieces, length) : only);
}

/** Bytes one behind the other. */
function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const all = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return fail('REQUEST_INVALID', { field: 'body', problem: 'it is not JSON' }, error);
  }
}

/** Throws `REQUEST_INVALID` for a field of the body. */
export function invalid(field: string, problem: string): never {
  fail('REQUEST_INVALID', { field: field || 'body', problem });
}

/** A response with a JSON body. */
export function json(value: unknown, status = 200): Response {
  return Response.json(value, { status });
}
