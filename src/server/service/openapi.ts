import { z } from 'zod';
import type { Endpoint } from '../endpoint.ts';
import { getEndpoint, json } from '../endpoint.ts';

/** `GET /openapi.json`: describes the other endpoints. */
export function openApiEndpoint(endpoints: readonly Endpoint[]): Endpoint {
  return getEndpoint({
    path: '/openapi.json',
    summary: 'This document.',
    isOpen: true,
    handle: ({ server }) => json(openApiDocument(endpoints, server.version)),
  });
}

/** The OpenAPI 3.1 document of endpoints, generated from the schemas that validate their requests. */
export function openApiDocument(endpoints: readonly Endpoint[], version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const endpoint of endpoints) {
    (paths[endpoint.path] ??= {})[endpoint.method.toLowerCase()] = operation(endpoint);
  }
  const info = { title: 'rocmforge', version, description: 'Large language models from GGUF files.' };
  const securitySchemes = {
    bearer: { type: 'http', scheme: 'bearer' },
    key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
  };
  return { openapi: '3.1.0', info, paths, components: { securitySchemes } };
}

function operation({ path, summary, body, isOpen, query }: Endpoint): object {
  const names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name);
  const inPath = names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
  const fields = query ? z.toJSONSchema(query, { io: 'input' }).properties : {};
  const inQuery = Object.entries(fields ?? {}).map(([name, schema]) => ({ name, in: 'query', schema }));
  const parameters = [...inPath, ...inQuery];
  const error = { description: 'What was wrong, by a code of the catalogue of errors.' };
  return {
    summary,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: requestBody(body) } : {}),
    responses: { 200: { description: 'The answer.' }, '4XX': error, '5XX': error },
    security: isOpen ? [] : [{ bearer: [] }, { key: [] }, {}],
  };
}

function requestBody(schema: z.ZodType): object {
  const { $schema: _dialect, ...described } = z.toJSONSchema(schema, { io: 'input' });
  return { required: true, content: { 'application/json': { schema: described } } };
}
