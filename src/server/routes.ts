import type { Endpoint } from './endpoint.ts';
import * as endpoints from './endpoints.ts';
import { openApiEndpoint } from './service/openapi.ts';

const DESCRIBED: readonly Endpoint[] = Object.values<Endpoint>(endpoints).sort((a, b) =>
  a.path < b.path ? -1 : 1,
);

/** Everything that the server answers, by path, and the document that describes it. */
export const ENDPOINTS: readonly Endpoint[] = [...DESCRIBED, openApiEndpoint(DESCRIBED)];
