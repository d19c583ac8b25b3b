import { entry } from './entry.ts';

/** Failures of requests to the HTTP server. */
export const serverErrors = {
  REQUEST_INVALID: entry<{ field: string; problem: string }>(
    400,
    'The request’s body does not match the endpoint’s schema.',
    'Correct the named field; /openapi.json describes every endpoint.',
    (p) => `${p.field}: ${p.problem}`,
  ),
  REQUEST_NOT_JSON: entry<{ found: string }>(
    415,
    'The request’s body is not declared as JSON.',
    'Send the header content-type: application/json. It is required so that no web page can post here unnoticed.',
    (p) => `content-type: found ${p.found}, expected application/json`,
  ),
  REQUEST_TOO_LARGE: entry<{ limit: number }>(
    413,
    'The request’s body is larger than the server accepts.',
    'Send less, or start the server with a larger --max-body.',
    (p) => `the body has more than the ${p.limit} bytes that are accepted`,
  ),
  REQUEST_TIMEOUT: entry<{ seconds: number }>(
    408,
    'The request took longer than the server allows.',
    'Ask for fewer tokens, or start the server with a larger --time-limit.',
    (p) => `the request took longer than ${p.seconds} s`,
  ),
  HOST_FORBIDDEN: entry<{ host: string }>(
    403,
    'The request’s Host header names none of the server’s hosts.',
    'Use its address or localhost, or start the server with --allowed-hosts and the name.',
    (p) => `Host: found ${p.host}, expected an address, localhost or an allowed name`,
  ),
  MODEL_NOT_LOADED: entry<{ model: string; reason: string }>(
    503,
    'A served model could not be loaded.',
    'See the server’s log for the reason; /v1/models lists the available models.',
    (p) => `model ${p.model} could not be loaded (${p.reason})`,
  ),
  MODELS_MEMORY: entry<{ model: string; needed: string; limit: string }>(
    507,
    'A model needs more memory than the server’s models may have together.',
    'Start the server with a larger --models-memory or a smaller --context.',
    (p) => `model ${p.model} needs ${p.needed}, all models together may have ${p.limit}`,
  ),
  MODEL_BUSY: entry<{ model: string; requests: number }>(
    409,
    'A model cannot be unloaded while requests use it.',
    'Unload it after they have ended; /slots lists running sequences.',
    (p) => `model ${p.model} is used by ${p.requests} requests`,
  ),
  STATE_FILE_NOT_FOUND: entry<{ file: string }>(
    404,
    'There is no saved state of this name.',
    'Restore a file that was saved before; the names are those of POST /slots/{id}?action=save.',
    (p) => `there is no saved state ${p.file}`,
  ),
  FEATURE_DISABLED: entry<{ what: string; option: string }>(
    501,
    'The server was started without something that this request needs.',
    'Start the server with the option that the message names.',
    (p) => `${p.what}: the server was started without ${p.option}`,
  ),
  OPERATION_UNSUPPORTED: entry<{ what: string; why: string }>(
    501,
    'The server does not have this operation of the API.',
    'Do it by other means, as the message says.',
    (p) => `${p.what}: ${p.why}`,
  ),
  TRACING_UNAVAILABLE: entry<{ why: string }>(
    503,
    'The packages that send traces are not installed.',
    'Install them beside rocmforge: npm install @opentelemetry/api@1.9 @opentelemetry/core@2 @opentelemetry/exporter-trace-otlp-http@0.223 @opentelemetry/resources@2 @opentelemetry/sdk-trace@2.',
    (p) => `traces cannot be sent: ${p.why}`,
  ),
  ROUTE_NOT_FOUND: entry<{ method: string; path: string }>(
    404,
    'The server has no endpoint at this address.',
    'Correct the address; /openapi.json lists every endpoint.',
    (p) => `${p.method} ${p.path}: there is no such endpoint`,
  ),
  METHOD_NOT_ALLOWED: entry<{ method: string; path: string; allowed: string }>(
    405,
    'The endpoint does not support this method.',
    'Use the method that the Allow header names.',
    (p) => `${p.path}: found ${p.method}, expected ${p.allowed}`,
  ),
  KEY_INVALID: entry<{ found: string }>(
    401,
    'The request has no valid API key.',
    'Send one of the server’s keys as authorization: Bearer KEY, or as x-api-key.',
    (p) => `API key: found ${p.found}, expected one of the server's`,
  ),
  MODEL_NOT_FOUND: entry<{ model: string; known: string }>(
    404,
    'The server has no model of this name.',
    'Use one of the names that /v1/models lists.',
    (p) => `model ${p.model} is not served; available models: ${p.known}`,
  ),
  SERVER_BUSY: entry<{ active: number; seconds: number }>(
    429,
    'The server’s queue is full.',
    'Try again after the seconds in Retry-After, or start the server with a larger --queue.',
    (p) => `${p.active} sequences are running or waiting; try again in ${p.seconds} s`,
  ),
  RATE_LIMITED: entry<{ limit: string; seconds: number }>(
    429,
    'An API key has exceeded its limit.',
    'Try again after the seconds in Retry-After, or ask the server’s operator for a higher limit.',
    (p) => `this key has ${p.limit}; try again in ${p.seconds} s`,
  ),
  PRIORITY_FORBIDDEN: entry<{ priority: number }>(
    403,
    'The request’s API key may not set a priority.',
    'Leave out the priority, or use a key that may set it.',
    (p) => `priority: found ${p.priority}, expected 0 with this key`,
  ),
  SERVER_DRAINING: entry<Record<string, never>>(
    503,
    'The server is shutting down.',
    'Send the request to another server, or retry when this one is back.',
    () => 'the server is shutting down and accepts no new requests',
  ),
  ADDRESS_IN_USE: entry<{ address: string; reason: string }>(
    500,
    'The server cannot listen on the requested address.',
    'Choose another --port or --host, or stop the program that listens there.',
    (p) => `cannot listen on ${p.address}: ${p.reason}`,
  ),
} as const;
