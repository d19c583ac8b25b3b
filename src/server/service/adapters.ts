import { getEndpoint, json } from '../endpoint.ts';

/** `GET /lora-adapters`, as in llama.cpp's server. */
export const adaptersEndpoint = getEndpoint({
  path: '/lora-adapters',
  summary: 'Lists the first model’s LoRA adapters, with the scales of requests that name none.',
  handle: async (call) => {
    using lease = await call.server.pool.acquire(undefined, call.signal);
    return json([...lease.model.adapters].map(([name, scale], id) => ({ id, name, scale })));
  },
});
