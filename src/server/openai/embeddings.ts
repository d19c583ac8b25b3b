import { z } from 'zod';
import { idsOf, listOf } from '../fields/list-of.ts';
import type { Embedding } from '../../engine/embedding.ts';
import type { TextModel } from '../../engine/text-model.ts';
import { refuseAdapter } from '../generation/adapter-field.ts';
import type { RequestContext } from '../request-context.ts';
import { invalid, json, postEndpoint } from '../endpoint.ts';
import { modelField } from '../generation/sampling-fields.ts';

/** Maximum texts of a request, as in OpenAI's API. */
const MAX_INPUTS = 2048;

const body = z.object({
  model: modelField,
  input: z
    .union([
      z.string().min(1),
      idsOf({ min: 1 }),
      listOf(z.string().min(1), { min: 1, max: MAX_INPUTS }),
      listOf(idsOf({ min: 1 }), { min: 1, max: MAX_INPUTS }),
    ])
    .describe('A text or several; or token ids, of one text or several.'),
  encoding_format: z.enum(['float', 'base64']).nullish().describe('base64 holds f32, little-endian.'),
  dimensions: z.int().positive().nullish(),
  pooling: z
    .enum(['mean', 'cls', 'last'])
    .nullish()
    .describe('How the rows of a text become one vector. Default: as the file says.'),
  user: z.string().nullish(),
});

type EmbeddingsBody = z.output<typeof body>;

/** `POST /v1/embeddings`, according to OpenAI's API reference. Vectors have length 1. */
export const embeddingsEndpoint = postEndpoint({
  path: '/v1/embeddings',
  summary: 'Computes embeddings, with models that have them.',
  body,
  handle: embed,
});

async function embed(request: EmbeddingsBody, call: RequestContext): Promise<Response> {
  const { pool, gate } = call.server;
  using _place = gate.admit(call.tenant);
  using lease = await pool.acquire(request.model ?? undefined, call.signal);
  refuseAdapter(lease);
  checkDimensions(request, lease.model);
  const pooling = request.pooling === 'cls' ? 'first' : (request.pooling ?? undefined);
  const data = [];
  let tokens = 0;
  for (const [index, input] of inputsOf(request).entries()) {
    const made = await lease.model.embed(input, { pooling, signal: call.signal });
    tokens += made.tokens;
    data.push({ object: 'embedding', index, embedding: encoded(made, request) });
  }
  call.addLogFields({ model: lease.id, promptTokens: tokens });
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return json({ object: 'list', data, model: lease.id, usage });
}

function checkDimensions({ dimensions }: EmbeddingsBody, { config }: TextModel): void {
  if (dimensions === undefined || dimensions === null || dimensions === config.width) return;
  invalid('dimensions', `the model's embeddings have ${config.width}`);
}

/** Texts, each as a string or as token ids. */
function inputsOf({ input }: EmbeddingsBody): (string | number[])[] {
  if (typeof input === 'string') return [input];
  return isIds(input) ? [input] : input;
}

function isIds(input: string[] | number[] | number[][]): input is number[] {
  return typeof input[0] === 'number';
}

function encoded({ vector }: Embedding, { encoding_format }: EmbeddingsBody): number[] | string {
  if (encoding_format !== 'base64') return Array.from(vector);
  const view = new DataView(new ArrayBuffer(4 * vector.length));
  vector.forEach((value, i) => view.setFloat32(4 * i, value, true));
  return btoa(String.fromCharCode(...new Uint8Array(view.buffer)));
}
