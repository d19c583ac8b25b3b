import { z } from 'zod';
import type { TextModel } from '../../engine/text-model.ts';
import { getEndpoint, json, postEndpoint } from '../endpoint.ts';
import type { ModelStatus } from '../model-pool.ts';
import { modelName } from './ollama-fields.ts';

/** `GET /api/tags`, according to Ollama's API reference. Omits what is unknown about models that are not loaded. */
export const ollamaTagsEndpoint = getEndpoint({
  path: '/api/tags',
  summary: 'Lists the models, in the format of Ollama.',
  dialect: 'ollama',
  handle: async ({ server: { pool } }) => {
    await pool.refresh();
    return json({ models: pool.list().map(entryOf) });
  },
});

/** `GET /api/ps`. */
export const ollamaPsEndpoint = getEndpoint({
  path: '/api/ps',
  summary: 'Lists the loaded models, in the format of Ollama.',
  dialect: 'ollama',
  handle: ({ server: { pool } }) => {
    const loaded = pool.list().filter(({ model }) => model !== undefined);
    const models = loaded.map((status) => ({ ...entryOf(status), context_length: status.model?.context }));
    return json({ models });
  },
});

/** `GET /api/version`. */
export const ollamaVersionEndpoint = getEndpoint({
  path: '/api/version',
  summary: 'Tells the server’s version, in the format of Ollama.',
  dialect: 'ollama',
  handle: ({ server: { version } }) => json({ version }),
});

/** `POST /api/show`. Loads the model. */
export const ollamaShowEndpoint = postEndpoint({
  path: '/api/show',
  summary: 'Describes a model, in the format of Ollama.',
  dialect: 'ollama',
  body: z.object({ model: z.string(), verbose: z.boolean().nullish().describe('Tells lists, too.') }),
  handle: async (request, call) => {
    const id = modelName(request.model);
    using lease = await call.server.pool.acquire(id, call.signal);
    const { model } = lease;
    const { metadata } = model.gguf;
    const template = metadata.string('tokenizer.chat_template') ?? '';
    return json({
      template,
      details: detailsOf(model),
      model_info: infoOf(model, request.verbose === true),
      capabilities: capabilitiesOf(model, template),
      modified_at: modifiedAt(call.server.pool.statusOf(id)),
    });
  },
});

function entryOf(status: ModelStatus): object {
  const { id, model } = status;
  return { name: id, model: id, modified_at: modifiedAt(status), details: model ? detailsOf(model) : {} };
}

function modifiedAt({ created }: ModelStatus): string {
  return new Date(1000 * created).toISOString();
}

function detailsOf({ gguf, config }: TextModel): object {
  const size = gguf.metadata.string('general.size_label');
  return {
    format: 'gguf',
    family: config.architecture,
    families: [config.architecture],
    ...(size !== undefined && { parameter_size: size }),
  };
}

/** The file's metadata, without lists unless requested. */
function infoOf({ gguf: { metadata } }: TextModel, withLists: boolean): Record<string, unknown> {
  const info: Record<string, unknown> = {};
  for (const key of metadata.keys()) {
    if (key === 'tokenizer.chat_template') continue;
    const isList = metadata.lengthOf(key) !== undefined;
    const value = isList && !withLists ? null : metadata.get(key);
    info[key] = typeof value === 'bigint' ? Number(value) : value;
  }
  return info;
}

function capabilitiesOf({ config }: TextModel, template: string): string[] {
  if (config.pooling) return ['embedding'];
  const thinks = /think|reasoning/.test(template);
  return ['completion', ...(template.includes('tools') ? ['tools'] : []), ...(thinks ? ['thinking'] : [])];
}
