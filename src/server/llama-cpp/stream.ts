import { z } from 'zod';
import { fail } from '../../base/errors.ts';
import { deleteEndpoint, getEndpoint, invalid } from '../endpoint.ts';
import { byteStream } from '../event-stream.ts';
import { readQuery } from '../query.ts';

const named = z.object({ conv_id: z.string().min(1).max(256) });

const read = named.extend({ from: z.coerce.number().int().min(0).optional() });

/** `GET /v1/stream`, as in llama.cpp's server: the stream of a request with the header `x-conversation-id`, again. */
export const streamEndpoint = getEndpoint({
  path: '/v1/stream',
  summary: 'Sends a stream again, from a byte on, and goes on with it.',
  query: read,
  handle: (call) => {
    const { conv_id: name, from = 0 } = readQuery(call, read);
    const stream = call.server.streams.find(call.caller.owner, name);
    if (!stream) fail('STORED_NOT_FOUND', { what: 'a stream', id: name });
    if (stream.state === 'waiting') fail('STREAM_WAITING', {});
    if (!stream.has(from)) invalid('from', 'these bytes are not there, or no longer: begin again');
    return byteStream(stream.read(from));
  },
});

/** `DELETE /v1/stream`, as in llama.cpp's server; there need not be such a stream. */
export const stopStreamEndpoint = deleteEndpoint({
  path: '/v1/stream',
  summary: 'Stops a stream and its request, and forgets it.',
  query: named,
  handle: (call) => {
    call.server.streams.cancel(call.caller.owner, readQuery(call, named).conv_id);
    return new Response(null, { status: 204 });
  },
});
