import { z } from 'zod';
import { fail } from '../../base/errors.ts';
import type { Call } from '../call.ts';
import { postEndpoint } from '../endpoint.ts';
import { modelField } from '../generation/sampling-fields.ts';

const body = z.object({
  model: modelField,
  input: z.union([z.string(), z.array(z.string()).min(1), z.array(z.int()).min(1)]),
});

/** `POST /v1/embeddings`. Generative models have no pooled output, so that each is refused by name. */
export const embeddingsEndpoint = postEndpoint({
  path: '/v1/embeddings',
  summary: 'Computes embeddings, with models that have them.',
  body,
  handle: refuse,
});

function refuse({ model }: z.output<typeof body>, { server }: Call): never {
  const { id } = model ? server.pool.statusOf(model) : (server.pool.list()[0] as { id: string });
  fail('EMBEDDINGS_UNSUPPORTED', { model: id });
}
