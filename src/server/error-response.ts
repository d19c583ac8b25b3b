import { CATALOGUE, type ErrorCode, isRocmforgeError, RocmforgeError } from '../base/errors.ts';

/** The API whose format an endpoint's errors have. */
export type ErrorDialect = 'openai' | 'anthropic' | 'ollama';

/** OpenAI's error type for a status. */
function openAiType(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 404) return 'not_found_error';
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}

/** Anthropic's error type for a status. */
function anthropicType(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 404) return 'not_found_error';
  if (status === 413) return 'request_too_large';
  if (status === 429) return 'rate_limit_error';
  if (status === 503) return 'overloaded_error';
  return status < 500 ? 'invalid_request_error' : 'api_error';
}

/** A rocmforge error unchanged; anything else as an internal error, whose details stay on the server. */
export function typedError(error: unknown): RocmforgeError {
  if (isRocmforgeError(error)) return error;
  return new RocmforgeError('INTERNAL', { what: 'the request could not be carried out' }, { cause: error });
}

/** Codes that clients of OpenAI's API know; all others are those of the catalogue. */
const OPENAI_CODES: Partial<Record<ErrorCode, string>> = {
  CONTEXT_OVERFLOW: 'context_length_exceeded',
  MODEL_NOT_FOUND: 'model_not_found',
  KEY_INVALID: 'invalid_api_key',
  RATE_LIMITED: 'rate_limit_exceeded',
};

/** Internal failures whose messages reveal nothing about this machine. */
const TOLD: ReadonlySet<ErrorCode> = new Set([
  'SERVER_DRAINING',
  'FEATURE_DISABLED',
  'OPERATION_UNSUPPORTED',
  'MODEL_NOT_LOADED',
  'MODELS_MEMORY',
  'LOGITS_NOT_FINITE',
]);

/**
 * The body of an error in the API's format. Of internal failures only the code is sent, because the message may name
 * files of this machine, or other requests. `reason` is the catalogue's code; Anthropic's format has the request's id, too.
 */
export function errorBody(error: RocmforgeError, dialect: ErrorDialect, requestId?: string): object {
  const { code, fix, status } = error;
  const isHidden = status >= 500 && !TOLD.has(code);
  const said = isHidden ? CATALOGUE[code].summary.replace(/\.$/, '') : error.message;
  const message = `${said}. ${fix}`;
  if (dialect === 'anthropic') {
    const told = { type: anthropicType(status), message, reason: code };
    return { type: 'error', error: told, ...(requestId !== undefined && { request_id: requestId }) };
  }
  if (dialect === 'ollama') return { error: message, reason: code };
  const param = isRocmforgeError(error, 'REQUEST_INVALID') ? error.params.field : null;
  const known = OPENAI_CODES[code] ?? code;
  const type = openAiType(status);
  return { error: { message, type, param, code: known, reason: code, ...overflowOf(error) } };
}

/** What clients of llama.cpp's server read of a prompt that is too long. */
function overflowOf(error: RocmforgeError): object {
  if (!isRocmforgeError(error, 'CONTEXT_OVERFLOW')) return {};
  const { tokens, context } = error.params;
  return { type: 'exceed_context_size_error', n_prompt_tokens: tokens, n_ctx: context };
}

/** The response to a request that failed before anything was sent. */
export function errorResponse(error: unknown, dialect: ErrorDialect, requestId?: string): Response {
  const typed = typedError(error);
  const headers = new Headers({ 'content-type': 'application/json' });
  if (isRocmforgeError(typed, 'SERVER_BUSY') || isRocmforgeError(typed, 'RATE_LIMITED'))
    headers.set('retry-after', String(typed.params.seconds));
  if (isRocmforgeError(typed, 'SERVER_DRAINING')) headers.set('retry-after', '5');
  if (isRocmforgeError(typed, 'METHOD_NOT_ALLOWED')) headers.set('allow', typed.params.allowed);
  if (isRocmforgeError(typed, 'KEY_INVALID')) headers.set('www-authenticate', 'Bearer');
  return new Response(JSON.stringify(errorBody(typed, dialect, requestId)), {
    status: typed.status,
    headers,
  });
}
