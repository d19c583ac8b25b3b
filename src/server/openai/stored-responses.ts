import { z } from 'zod';
import { actionEndpoint, deleteEndpoint, getEndpoint, invalid, json } from '../endpoint.ts';
import { pathValue } from '../paths.ts';
import { readQuery } from '../query.ts';
import type { RequestContext } from '../request-context.ts';
import { pageOf, pageQuery } from '../storage/pages.ts';
import { withIncluded } from './response-items.ts';
import type { ResponseObject, ResponseRecord } from './response-turn.ts';
import { includeField } from './responses-schema.ts';

const flag = z.enum(['true', 'false']).optional();

const responseQuery = z.object({
  include: includeField,
  stream: flag.refine((value) => value !== 'true', 'a stored response is returned as a whole'),
  include_obfuscation: flag,
});

/** `GET /v1/responses/{response_id}`. */
export const responseEndpoint = getEndpoint({
  path: '/v1/responses/{response_id}',
  summary: 'Returns a stored response.',
  query: responseQuery,
  handle: async (call) => {
    const { include } = readQuery(call, responseQuery);
    const response = await storedResponse(call);
    return json({ ...response, output: withIncluded(response.output, include) });
  },
});

/** `DELETE /v1/responses/{response_id}`; a response in the background is cancelled first. */
export const deleteResponseEndpoint = deleteEndpoint({
  path: '/v1/responses/{response_id}',
  summary: 'Removes a stored response.',
  handle: async (call) => {
    const { id } = await storedResponse(call);
    await call.server.background.cancel(id);
    await call.stored.remove('response', id);
    return json({ id, object: 'response.deleted', deleted: true });
  },
});

/** `POST /v1/responses/{response_id}/cancel`. */
export const cancelResponseEndpoint = actionEndpoint({
  path: '/v1/responses/{response_id}/cancel',
  summary: 'Cancels a response in the background; one that has ended stays as it is.',
  handle: async (call) => {
    const { id, background } = await storedResponse(call);
    if (!background) invalid('response_id', 'only responses in the background can be cancelled');
    await call.server.background.cancel(id);
    return json(await storedResponse(call));
  },
});

const itemsQuery = pageQuery('desc').extend({ include: includeField });

/** `GET /v1/responses/{response_id}/input_items`. */
export const inputItemsEndpoint = getEndpoint({
  path: '/v1/responses/{response_id}/input_items',
  summary: 'Lists the items of a stored response’s own input.',
  query: itemsQuery,
  handle: async (call) => {
    const query = readQuery(call, itemsQuery);
    const id = pathValue(call, 'response_id');
    const { input } = await call.stored.get<ResponseRecord>('response', id);
    return json(await pageOf(withIncluded(input, query.include), query, (item) => item));
  },
});

/** The response that the path names. What runs nowhere and has not ended was cut off by the end of a server. */
async function storedResponse(call: RequestContext): Promise<ResponseObject> {
  const id = pathValue(call, 'response_id');
  const { response } = await call.stored.get<ResponseRecord>('response', id);
  const isOver = response.status !== 'queued' && response.status !== 'in_progress';
  if (isOver || call.server.background.isRunning(id)) return response;
  // It may have ended while the record was read.
  const again = await call.stored.get<ResponseRecord>('response', id);
  if (again.response.status !== response.status) return again.response;
  const error = { code: 'server_error', message: 'the server stopped before the response was complete' };
  return { ...response, status: 'failed', ...{ error } };
}
