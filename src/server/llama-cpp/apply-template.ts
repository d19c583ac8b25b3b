import type { z } from 'zod';
import { json, postEndpoint } from '../endpoint.ts';
import { chatPrompt } from '../generation/answer-form.ts';
import { requestedReasoning } from '../generation/reasoning-fields.ts';
import { chatBody, conversationEnd, toolUseOf } from '../openai/chat-body.ts';
import { chatMessages } from '../openai/chat-messages.ts';
import type { RequestContext } from '../request-context.ts';

/** `POST /apply-template`, as in llama.cpp's server. Accepts the fields of a chat request. */
export const applyTemplateEndpoint = postEndpoint({
  path: '/apply-template',
  summary: 'Tells the prompt that the chat template makes of a conversation.',
  body: chatBody,
  handle: applyTemplate,
});

async function applyTemplate(request: z.output<typeof chatBody>, call: RequestContext): Promise<Response> {
  const { pool, gate } = call.server;
  // Encoding blocks the thread for a time slice, so these requests are limited like others.
  using _place = gate.admit(call.tenant);
  using lease = await pool.acquire(request.model ?? undefined, call.signal);
  const { model } = lease;
  const thinking = requestedReasoning(model, request, call.server.reasoning);
  const how = { use: toolUseOf(request), thinking, call };
  const ids = await chatPrompt(model, chatMessages(request.messages), {
    ...how,
    ...conversationEnd(request, call.server),
  });
  const { bos, addBos } = model.tokenizer.special;
  const shown = addBos && ids[0] === bos ? ids.slice(1) : ids;
  return json({ prompt: model.tokenizer.decode(shown, { special: true }) });
}
