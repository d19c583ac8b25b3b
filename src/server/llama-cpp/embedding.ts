import { z } from 'zod';
import { inputField } from '../embedding/embed-inputs.ts';
import { embedInputs, vectorFields } from '../embedding/vectors.ts';
import { type Endpoint, invalid, json, postEndpoint } from '../endpoint.ts';
import { VECTOR_FIELDS } from '../fields/vector-fields.ts';

const { encoding_format: _, pooling, ...fields } = vectorFields;

const body = z.object({
  input: inputField.optional(),
  content: inputField.optional().describe('Another name of input.'),
  ...fields,
  pooling: z
    .enum(['none', ...pooling.unwrap().unwrap().options])
    .nullish()
    .describe('none gives a vector per token. Default: as the server or the file says.'),
});

/** `POST /embedding` and `/embeddings`, as in llama.cpp's server: without a pooling, a vector per token. */
export const [embeddingEndpoint, llamaEmbeddingsEndpoint] = [at('/embedding'), at('/embeddings')];

function at(path: string): Endpoint {
  return postEndpoint({
    path,
    summary: 'Computes embeddings, in the format of llama.cpp’s server.',
    body,
    others: VECTOR_FIELDS,
    handle: async ({ input: named, content, ...how }, call) => {
      const input = named ?? content ?? invalid('input', 'neither input nor content is there');
      const { made } = await embedInputs({ ...how, input }, call, { mayBeRows: true });
      return json(
        made.map(({ vectors }, index) => ({ index, embedding: vectors.map((vector) => Array.from(vector)) })),
      );
    },
  });
}
