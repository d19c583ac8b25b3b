import type { Endpoint } from './endpoint.ts';
import * as endpoints from './endpoints.ts';
import { predictEndpoint } from './service/predict.ts';
import { openApiEndpoint } from './service/openapi.ts';

const SERVED = Object.values<Endpoint>(endpoints);

const DESCRIBED: readonly Endpoint[] = [...SERVED, predictEndpoint(SERVED)].sort((a, b) =>
  a.path < b.path ? -1 : 1,
);

/** Other paths of endpoints, which clients of llama.cpp's server use. */
export const ALIASES: readonly (readonly [alias: string, path: string])[] = [
  ['/chat/completions', '/v1/chat/completions'],
  ['/chat/completions/input_tokens', '/v1/chat/completions/input_tokens'],
  ['/completions', '/completion'],
  ['/models', '/v1/models'],
  ['/responses', '/v1/responses'],
  ['/responses/input_tokens', '/v1/responses/input_tokens'],
  ['/v1/health', '/health'],
];

/** Every endpoint of the server, including the document that describes them. */
export const ENDPOINTS: readonly Endpoint[] = [...DESCRIBED, openApiEndpoint(DESCRIBED)];

/** The endpoints under all of their paths. */
export const ROUTES: readonly Endpoint[] = [...ENDPOINTS, ...otherwise()];

function otherwise(): Endpoint[] {
  return ALIASES.flatMap(([alias, path]) =>
    DESCRIBED.filter((endpoint) => endpoint.path === path).map((endpoint) => ({ ...endpoint, path: alias })),
  );
}
