import { z } from 'zod';
import { fail } from '../../base/errors.ts';
import { getEndpoint, invalid, json, postEndpoint } from '../endpoint.ts';
import { adapterList, adaptersOf } from '../generation/adapter-field.ts';
import { modelField } from '../generation/sampling-fields.ts';

/** `GET /lora-adapters`, as in llama.cpp's server. */
export const adaptersEndpoint = getEndpoint({
  path: '/lora-adapters',
  summary: 'Lists the first model’s LoRA adapters, with the scales of requests that name none.',
  handle: async (call) => {
    using lease = await call.server.pool.acquire(undefined, call.signal);
    return json([...lease.model.adapters].map(([name, scale], id) => ({ id, name, scale })));
  },
});

/** `POST /lora-adapters`, as in llama.cpp's server: adapters that are not listed are not applied any more. */
export const scaleAdaptersEndpoint = postEndpoint({
  path: '/lora-adapters',
  summary: 'Sets the scales of the first model’s LoRA adapters, for requests that name none.',
  body: adapterList,
  handle: async (lora, call) => {
    const { pool } = call.server;
    using lease = await pool.acquire(undefined, call.signal);
    const none = [...lease.model.adapters.keys()].map((name) => [name, 0] as const);
    const scales = new Map([...none, ...(adaptersOf(lease.model, { lora }, '') ?? [])]);
    await pool.changeAdapters(lease.id, { kind: 'scale', scales }, call.signal);
    return json({ success: true });
  },
});

const named = z.object({
  lora_name: z
    .string()
    .min(1)
    .max(128)
    .describe('The name of the adapter, which requests can use as that of a model.'),
  model: modelField,
});

/** `POST /v1/load_lora_adapter`, as in vLLM. */
export const loadAdapterEndpoint = postEndpoint({
  path: '/v1/load_lora_adapter',
  summary: 'Loads a LoRA adapter into a model that has room for it.',
  body: named.extend({
    lora_path: z.string().min(1).max(4096).describe('A GGUF file in the folder of --lora-folder.'),
    load_inplace: z
      .boolean()
      .nullish()
      .describe('Replaces one of the same name, which is an error otherwise.'),
  }),
  handle: async ({ lora_name: name, lora_path: path, load_inplace, model }, call) => {
    const { pool, adapterFiles } = call.server;
    if (!adapterFiles) fail('FEATURE_DISABLED', { what: 'loading adapters', option: '--lora-folder' });
    if (pool.isModel(name)) invalid('lora_name', `there is a model ${name}`);
    using lease = await pool.acquire(model ?? undefined, call.signal);
    if (lease.model.adapters.has(name) && !load_inplace) {
      invalid('lora_name', `there is an adapter ${name}, which only load_inplace replaces`);
    }
    const location = await adapterFiles.locate(path);
    await pool.changeAdapters(lease.id, { kind: 'load', name, location, scale: 0 }, call.signal);
    return new Response(`Success: LoRA adapter '${name}' added successfully.`);
  },
});

/** `POST /v1/unload_lora_adapter`, as in vLLM. */
export const unloadAdapterEndpoint = postEndpoint({
  path: '/v1/unload_lora_adapter',
  summary: 'Unloads a LoRA adapter.',
  body: named.extend({ lora_int_id: z.int().nullish() }),
  handle: async ({ lora_name: name, model }, call) => {
    const { pool, adapterFiles } = call.server;
    if (!adapterFiles) fail('FEATURE_DISABLED', { what: 'unloading adapters', option: '--lora-folder' });
    using lease = await pool.acquire(model ?? name, call.signal);
    if (!lease.model.adapters.has(name)) {
      fail('MODEL_NOT_FOUND', {
        model: name.slice(0, 200),
        known: [...lease.model.adapters.keys()].join(', '),
      });
    }
    await pool.changeAdapters(lease.id, { kind: 'unload', name }, call.signal);
    return new Response(`Success: LoRA adapter '${name}' removed successfully.`);
  },
});
