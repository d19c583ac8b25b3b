import { json, postEndpoint } from '../endpoint.ts';
import { chatPrompt } from '../generation/answer-form.ts';
import { requestedReasoning } from '../generation/reasoning-fields.ts';
import { chatBody, conversationEnd, toolUseOf } from './chat-body.ts';
import { chatMessages } from './chat-messages.ts';

/** `POST /v1/chat/completions/input_tokens`, as in llama.cpp's server. Accepts the fields of a chat request. */
export const inputTokensEndpoint = postEndpoint({
  path: '/v1/chat/completions/input_tokens',
  summary: 'Counts the tokens of a conversation.',
  body: chatBody,
  handle: async (request, call) => {
    const { pool, gate, reasoning } = call.server;
    // Encoding occupies the thread, so these requests are limited like others.
    using _place = gate.admit(call.tenant);
    using lease = await pool.acquire(request.model ?? undefined, call.signal);
    const { model } = lease;
    const thinking = requestedReasoning(model, request, reasoning);
    const how = { use: toolUseOf(request), thinking, call };
    const prompt = await chatPrompt(model, chatMessages(request.messages), {
      ...how,
      ...conversationEnd(request, call.server),
    });
    return json({ object: 'response.input_tokens', input_tokens: prompt.length });
  },
});
