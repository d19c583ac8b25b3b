import { z } from 'zod';
import { idsOf } from '../fields/list-of.ts';
import type { RequestContext } from '../request-context.ts';
import { json, postEndpoint } from '../endpoint.ts';
import { modelField } from '../generation/sampling-fields.ts';

/** Maximum length of a text: all its ids are returned at once. */
const MAX_TEXT_LENGTH = 2 ** 18;

const text = z.object({
  model: modelField,
  content: z.string().max(MAX_TEXT_LENGTH),
  add_special: z.boolean().default(false).describe('Adds what the model wants around a text.'),
  parse_special: z.boolean().default(true).describe('Reads the names of control tokens as those.'),
  with_pieces: z.boolean().default(false).describe('Tells the text of each token, or its bytes.'),
});

/** `POST /tokenize`, as in llama.cpp's server. */
export const tokenizeEndpoint = postEndpoint({
  path: '/tokenize',
  summary: 'Turns a text into token ids.',
  body: text,
  handle: tokenize,
});

async function tokenize(request: z.output<typeof text>, call: RequestContext): Promise<Response> {
  const { pool, gate } = call.server;
  // Encoding occupies the thread, so these requests are limited like others.
  using _place = gate.admit(call.tenant);
  using lease = await pool.acquire(request.model ?? undefined, call.signal);
  const { tokenizer } = lease.model;
  const { content, add_special: addSpecial, parse_special: parseSpecial } = request;
  const { signal } = call;
  const ids = await tokenizer.encodeInTurns(content, { addSpecial, parseSpecial, signal });
  if (!request.with_pieces) return json({ tokens: ids });
  return json({ tokens: ids.map((id) => ({ id, piece: pieceOf(tokenizer.tokenBytes(id)) })) });
}

function pieceOf(bytes: Uint8Array): string | number[] {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return Array.from(bytes);
  }
}

/** Maximum number of ids: their text is returned at once. */
const MAX_IDS = 2 ** 16;

const ids = z.object({ model: modelField, tokens: idsOf({ max: MAX_IDS }) });

/** `POST /detokenize`, as in llama.cpp's server. */
export const detokenizeEndpoint = postEndpoint({
  path: '/detokenize',
  summary: 'Turns token ids into text.',
  body: ids,
  handle: async ({ model, tokens }, call) => {
    using lease = await call.server.pool.acquire(model ?? undefined, call.signal);
    return json({ content: lease.model.tokenizer.decode(tokens, { special: true, keepLeadingSpace: true }) });
  },
});
