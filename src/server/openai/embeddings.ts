import { z } from 'zod';
import { inputField } from '../embedding/embed-inputs.ts';
import { embedInputs, vectorFields, writtenVector } from '../embedding/vectors.ts';
import { json, postEndpoint } from '../endpoint.ts';
import { VECTOR_FIELDS } from '../fields/vector-fields.ts';

const NONE = new Float32Array(0);

/** `POST /v1/embeddings`, according to OpenAI's API reference. Vectors have length 1. */
export const embeddingsEndpoint = postEndpoint({
  path: '/v1/embeddings',
  summary: 'Computes embeddings, with models that have them.',
  body: z.object({ input: inputField, ...vectorFields }),
  others: VECTOR_FIELDS,
  handle: async (request, call) => {
    const { model, made, tokens } = await embedInputs(request, call);
    const data = made.map(({ vectors: [vector] }, index) => ({
      object: 'embedding',
      index,
      embedding: writtenVector(vector ?? NONE, request),
    }));
    return json({ object: 'list', data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } });
  },
});
