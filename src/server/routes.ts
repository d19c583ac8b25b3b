import type { Endpoint } from './endpoint.ts';
import * as endpoints from './endpoints.ts';
import { openApiEndpoint } from './service/openapi.ts';

const DESCRIBED: readonly Endpoint[] = Object.values<Endpoint>(endpoints).sort((a, b) =>
  a.path < b.path ? -1 : 1,
);

/** Every endpoint of the server, including the document that describes them. */
export const ENDPOINTS: readonly Endpoint[] = [...DESCRIBED, openApiEndpoint(DESCRIBED)];
