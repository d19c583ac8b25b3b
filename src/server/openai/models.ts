import { z } from 'zod';
import { getEndpoint, json } from '../endpoint.ts';
import { typedError } from '../error-response.ts';
import type { ModelStatus } from '../model-pool.ts';
import { pathValue } from '../paths.ts';
import { readQuery } from '../query.ts';
import type { RequestContext } from '../request-context.ts';

/** Pages of Anthropic's lists. */
const anthropicPage = z.object({
  limit: z.coerce.number().int().min(1).max(1000).default(20),
  after_id: z.string().optional(),
  before_id: z.string().optional(),
});

/** `GET /v1/models`, according to OpenAI's API reference. */
export const modelsEndpoint = getEndpoint({
  path: '/v1/models',
  summary: 'Lists the models, the default one first.',
  query: anthropicPage,
  handle: async (call) => {
    const { pool } = call.server;
    await pool.refresh();
    if (call.dialect === 'anthropic') return json(modelPage(call, pool.list()));
    return json({ object: 'list', data: pool.list().flatMap(withAdapters) });
  },
});

/** `GET /v1/models/{model}`. */
export const modelEndpoint = getEndpoint({
  path: '/v1/models/{model}',
  summary: 'Tells about one model.',
  handle: (call) => {
    const status = call.server.pool.statusOf(pathValue(call, 'model'));
    return json(call.dialect === 'anthropic' ? modelInfo(status) : modelObject(status));
  },
});

/** A model, and its adapters by the names under which they answer, as in vLLM. */
function withAdapters(status: ModelStatus): object[] {
  const { id: parent, created, adapters } = status;
  const shared = { object: 'model', created, owned_by: 'rocmforge', parent };
  return [modelObject(status), ...adapters.map((id) => ({ id, ...shared }))];
}

/** A model in OpenAI's list, with details while it is loaded. */
function modelObject({ id, source, created, state, failure, model }: ModelStatus): object {
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
    ...(source.aliases && { aliases: source.aliases }),
    ...(source.tags && { tags: source.tags }),
    state,
    // In the words of llama.cpp's server.
    status: { value: state === 'ready' ? 'loaded' : state },
    ...(failure && { error: typedError(failure).code }),
    ...loaded,
  };
}

/** A page of the models, in Anthropic's API. */
function modelPage(call: RequestContext, models: readonly ModelStatus[]): object {
  const { limit, after_id: after, before_id: before } = readQuery(call, anthropicPage);
  const at = (id: string | undefined) => models.findIndex((model) => model.id === id);
  const all = before === undefined ? models.slice(at(after) + 1) : models.slice(0, Math.max(0, at(before)));
  const page = before === undefined ? all.slice(0, limit) : all.slice(-limit);
  return {
    data: page.map(modelInfo),
    has_more: page.length < all.length,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  };
}

/** A model in Anthropic's list. */
function modelInfo({ id, created, model }: ModelStatus): object {
  return {
    type: 'model',
    id,
    display_name: model?.gguf.metadata.string('general.name') ?? id,
    created_at: new Date(created * 1000).toISOString(),
    max_input_tokens: model?.context ?? null,
    max_tokens: model?.context ?? null,
    capabilities: null,
    lifecycle: 'active',
    line: null,
    deprecated_at: null,
    retires_at: null,
  };
}
