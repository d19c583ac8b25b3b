import { z } from 'zod';
import { json, postEndpoint } from '../endpoint.ts';

const named = z.object({ model: z.string().describe('The name of the model.') });

/** `POST /models/load`, as in llama.cpp's server; responds once the model is loaded. */
export const loadEndpoint = postEndpoint({
  path: '/models/load',
  summary: 'Loads a model.',
  body: named,
  handle: async ({ model }, call) => {
    const lease = await call.server.pool.acquire(model, call.signal, true);
    lease[Symbol.dispose]();
    return json({ success: true });
  },
});

/** `POST /models/unload`, as in llama.cpp's server, except that it refuses while requests use the model. */
export const unloadEndpoint = postEndpoint({
  path: '/models/unload',
  summary: 'Unloads a model that no request uses; the next request loads it again.',
  body: named,
  handle: async ({ model }, { server }) => {
    await server.pool.unload(model);
    return json({ success: true });
  },
});
