import { getEndpoint, json } from '../endpoint.ts';
import { typedError } from '../error-response.ts';
import type { ModelStatus } from '../model-pool.ts';
import { pathValue } from '../paths.ts';

/** `GET /v1/models`, according to OpenAI's API reference. */
export const modelsEndpoint = getEndpoint({
  path: '/v1/models',
  summary: 'Lists the models, the default one first.',
  handle: async ({ server: { pool } }) => {
    await pool.refresh();
    return json({ object: 'list', data: pool.list().flatMap(withAdapters) });
  },
});

/** `GET /v1/models/{model}`. */
export const modelEndpoint = getEndpoint({
  path: '/v1/models/{model}',
  summary: 'Tells about one model.',
  handle: (call) => json(modelObject(call.server.pool.statusOf(pathValue(call, 'model')))),
});

/** A model, and its adapters by the names under which they answer, as in vLLM. */
function withAdapters(status: ModelStatus): object[] {
  const { id: parent, created, adapters } = status;
  const shared = { object: 'model', created, owned_by: 'rocmforge', parent };
  return [modelObject(status), ...adapters.map((id) => ({ id, ...shared }))];
}

/** A model in OpenAI's list, with details while it is loaded. */
function modelObject({ id, created, state, failure, model }: ModelStatus): object {
  const loaded = model && {
    context_length: model.context,
    architecture: model.config.architecture,
    name: model.gguf.metadata.string('general.name'),
  };
  return {
    id,
    object: 'model',
    created,
    owned_by: 'rocmforge',
    state,
    ...(failure && { error: typedError(failure).code }),
    ...loaded,
  };
}
