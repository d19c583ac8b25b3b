import { isRocmforgeError, RocmforgeError } from '../base/errors.ts';

/** Whose shape an endpoint's errors have. */
export type ErrorDialect = 'openai' | 'anthropic';

/** What OpenAI calls an error of this status. */
function openAiType(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 404) return 'not_found_error';
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}

/** What Anthropic calls an error of this status. */
function anthropicType(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 404) return 'not_found_error';
  if (status === 413) return 'request_too_large';
  if (status === 429) return 'rate_limit_error';
  if (status === 503) return 'overloaded_error';
  return status < 500 ? 'invalid_request_error' : 'api_error';
}

/** Our own error as it is; anything else as an internal one, whose details stay here. */
export function typedError(error: unknown): RocmforgeError {
  if (isRocmforgeError(error)) return error;
  return new RocmforgeError('INTERNAL', { what: 'the request could not be carried out' }, { cause: error });
}

/** The body of an error in the dialect's shape; code and fix come from the catalogue. */
export function errorBody(error: RocmforgeError, dialect: ErrorDialect): object {
  const { code, message, fix, status } = error;
  if (dialect === 'anthropic') {
    return { type: 'error', error: { type: anthropicType(status), message: `${message}. ${fix}` } };
  }
  const param = isRocmforgeError(error, 'REQUEST_INVALID') ? error.params.field : null;
  return { error: { message: `${message}. ${fix}`, type: openAiType(status), param, code } };
}

/** The response to a request that failed before anything was sent. */
export function errorResponse(error: unknown, dialect: ErrorDialect): Response {
  const typed = typedError(error);
  const headers = new Headers({ 'content-type': 'application/json' });
  if (isRocmforgeError(typed, 'SERVER_BUSY') || isRocmforgeError(typed, 'RATE_LIMITED'))
    headers.set('retry-after', String(typed.params.seconds));
  if (isRocmforgeError(typed, 'SERVER_DRAINING')) headers.set('retry-after', '5');
  if (isRocmforgeError(typed, 'METHOD_NOT_ALLOWED')) headers.set('allow', typed.params.allowed);
  if (isRocmforgeError(typed, 'KEY_INVALID')) headers.set('www-authenticate', 'Bearer');
  return new Response(JSON.stringify(errorBody(typed, dialect)), { status: typed.status, headers });
}
