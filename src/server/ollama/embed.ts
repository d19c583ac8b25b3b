import { z } from 'zod';
import { someAtOnce } from '../../base/some-at-once.ts';
import { json, postEndpoint } from '../endpoint.ts';
import { listOf } from '../fields/list-of.ts';
import { VECTOR_FIELDS } from '../fields/vector-fields.ts';
import { refuseAdapter } from '../generation/adapter-field.ts';
import { keepAliveField } from './keep-alive.ts';
import { keepLoaded, modelName } from './ollama-fields.ts';

/** The maximum number of texts in a request. */
const MAX_INPUTS = 2048;

const body = z.object({
  model: z.string().describe('A name of /api/tags.'),
  input: z.union([z.string().min(1), listOf(z.string().min(1), { min: 1, max: MAX_INPUTS })]),
  truncate: z.boolean().nullish().describe('Texts that are too long are refused, or cut where this is true.'),
  dimensions: z.int().positive().nullish(),
  keep_alive: keepAliveField,
});

/** `POST /api/embed`, according to Ollama's API reference. */
export const ollamaEmbedEndpoint = postEndpoint({
  path: '/api/embed',
  summary: 'Computes embeddings, in the format of Ollama.',
  dialect: 'ollama',
  body,
  others: VECTOR_FIELDS,
  handle: async ({ model: name, input, truncate, dimensions, keep_alive }, call) => {
    const { pool, gate } = call.server;
    using _place = gate.admit(call.tenant);
    const asked = performance.now();
    using lease = await pool.acquire(modelName(name), call.signal);
    const load_duration = nanosecondsSince(asked);
    refuseAdapter(lease);
    keepLoaded(lease.id, keep_alive, pool);
    const { model } = lease;
    const { signal } = call;
    const how = { dimensions: dimensions ?? undefined, signal };
    const texts = typeof input === 'string' ? [input] : input;
    // As many as are computed together: other requests' texts take turns with these.
    const made = await someAtOnce(texts, model.activity.slots, async (text) => {
      const ids = await model.tokenizer.encodeInTurns(text, { signal });
      return model.embed(truncate ? ids.slice(0, model.context) : ids, how);
    });
    const embeddings = made.map(({ vector }) => Array.from(vector));
    const tokens = made.reduce((sum, of) => sum + of.tokens, 0);
    call.countPrompt(lease.id, tokens);
    const total_duration = nanosecondsSince(call.startedAt);
    const took = { total_duration, load_duration, prompt_eval_count: tokens };
    return json({ model: lease.id, embeddings, ...took });
  },
});

function nanosecondsSince(begin: number): number {
  return Math.round((performance.now() - begin) * 1e6);
}

/** `POST /api/embeddings`, the older endpoint for one text. */
export const ollamaEmbeddingsEndpoint = postEndpoint({
  path: '/api/embeddings',
  summary: 'Computes the embedding of a text, in the older format of Ollama.',
  dialect: 'ollama',
  body: z.object({
    model: body.shape.model,
    prompt: z.string().min(1),
    keep_alive: keepAliveField,
  }),
  others: VECTOR_FIELDS,
  handle: async ({ model: name, prompt, keep_alive }, call) => {
    const { pool, gate } = call.server;
    using _place = gate.admit(call.tenant);
    using lease = await pool.acquire(modelName(name), call.signal);
    refuseAdapter(lease);
    keepLoaded(lease.id, keep_alive, pool);
    const { signal } = call;
    const { vector, tokens } = await lease.model.embed(prompt, { signal });
    call.countPrompt(lease.id, tokens);
    return json({ embedding: Array.from(vector) });
  },
});
