import { z } from 'zod';
import type { TextModel } from '../../engine/text-model.ts';
import { invalid, getEndpoint, json, postEndpoint } from '../endpoint.ts';
import { detailsOfFile, type ModelDetails } from '../model-details.ts';
import type { ModelStatus } from '../model-pool.ts';
import { modelName } from './ollama-fields.ts';

/** `GET /api/tags`, according to Ollama's API reference. Omits what is unknown about a model, such as a broken file's size. */
export const ollamaTagsEndpoint = getEndpoint({
  path: '/api/tags',
  summary: 'Lists the models, in the format of Ollama.',
  dialect: 'ollama',
  handle: async ({ server: { pool } }) => {
    await pool.refresh();
    return json({ models: await Promise.all(pool.list().map(entryOf)) });
  },
});

/** `GET /api/ps`. */
export const ollamaPsEndpoint = getEndpoint({
  path: '/api/ps',
  summary: 'Lists the loaded models, in the format of Ollama.',
  dialect: 'ollama',
  handle: async ({ server: { pool } }) => {
    const models = pool.list().flatMap((status) => (status.model ? [loadedEntry(status, status.model)] : []));
    return json({ models: await Promise.all(models) });
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
  body: z.object({
    model: z.string().nullish().describe('A name of /api/tags.'),
    name: z.string().nullish().describe("The older name of the field 'model'."),
    verbose: z.boolean().nullish().describe('Tells lists, too.'),
  }),
  handle: async (request, call) => {
    const id = modelName(request.model ?? request.name ?? invalid('model', 'is required'));
    using lease = await call.server.pool.acquire(id, call.signal);
    const { model } = lease;
    const { metadata } = model.gguf;
    const template = metadata.string('tokenizer.chat_template') ?? '';
    return json({
      license: metadata.string('general.license') ?? '',
      modelfile: `FROM ${lease.id}\n`,
      parameters: `num_ctx ${model.context}`,
      template,
      system: '',
      details: detailsOf(detailsOfFile(model.gguf)),
      model_info: infoOf(model, request.verbose === true),
      capabilities: capabilitiesOf(model, template),
      modified_at: modifiedAt(call.server.pool.statusOf(id)),
    });
  },
});

async function entryOf(status: ModelStatus): Promise<object> {
  const { id, source, model } = status;
  const details = model ? detailsOfFile(model.gguf) : await source.details?.().catch(() => undefined);
  const digest = source.digest?.();
  return {
    name: id,
    model: id,
    modified_at: modifiedAt(status),
    ...(details && { size: details.bytes }),
    ...(digest !== undefined && { digest }),
    details: details ? detailsOf(details) : {},
  };
}

async function loadedEntry(status: ModelStatus, { context, fit }: TextModel): Promise<object> {
  const { expires } = status;
  return {
    ...(await entryOf(status)),
    size: fit.total,
    size_vram: fit.onDevice,
    context_length: context,
    ...(expires !== undefined && { expires_at: new Date(expires).toISOString() }),
  };
}

function modifiedAt({ created }: ModelStatus): string {
  return new Date(1000 * created).toISOString();
}

function detailsOf({ architecture, parameters, quantization }: ModelDetails): object {
  return {
    parent_model: '',
    format: 'gguf',
    family: architecture,
    families: [architecture],
    parameter_size: parameters,
    quantization_level: quantization,
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

function capabilitiesOf({ config, tokenizer }: TextModel, template: string): string[] {
  if (config.pooling) return ['embedding'];
  const thinks = /think|reasoning/.test(template);
  return [
    'completion',
    ...(template.includes('tools') ? ['tools'] : []),
    ...(thinks ? ['thinking'] : []),
    ...(tokenizer.special.fimMiddle !== undefined ? ['insert'] : []),
  ];
}
