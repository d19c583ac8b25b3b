import { z } from 'zod';
import type { TextModel } from '../../engine/text-model.ts';
import type { RequestContext } from '../request-context.ts';
import { json, postEndpoint } from '../endpoint.ts';
import type { StreamEvent } from '../event-stream.ts';
import { COUNTED_FIELDS, OTHER_FIELDS } from '../fields/other-fields.ts';
import { adaptersOf } from '../generation/adapter-field.ts';
import { answerForm, chatPrompt, refuseConstrainedPrefill } from '../generation/answer-form.ts';
import { respondWithEvents } from '../generation/respond.ts';
import { type StartedGeneration, startGeneration, type GenerationTask } from '../generation/run-task.ts';
import { generateOptions, truncatedPrompt } from '../generation/sampling-fields.ts';
import { type MessageEvent, MessageWriter } from './message-writer.ts';
import {
  chatMessagesOf,
  conversationFields,
  hasPrefill,
  messagesBody,
  reasoningOf,
  textConstraintOf,
  toolUseOf,
} from './messages-schema.ts';

type MessagesBody = z.output<typeof messagesBody>;

/** `POST /v1/messages`, according to Anthropic's API reference. */
export const messagesEndpoint = postEndpoint({
  path: '/v1/messages',
  summary: 'Answers a conversation, in the shape of Anthropic’s API.',
  dialect: 'anthropic',
  body: messagesBody,
  others: OTHER_FIELDS,
  handle: answer,
});

const countBody = z.object(conversationFields);

/** `POST /v1/messages/count_tokens`. */
export const countTokensEndpoint = postEndpoint({
  path: '/v1/messages/count_tokens',
  summary: 'Counts the tokens of a conversation.',
  dialect: 'anthropic',
  body: countBody,
  others: COUNTED_FIELDS,
  handle: async (request, call) => {
    const { pool, gate } = call.server;
    // Encoding occupies the thread, so these requests are limited like others.
    using _place = gate.admit(call.tenant);
    using lease = await pool.acquire(request.model ?? undefined, call.signal);
    const use = toolUseOf(request);
    const thinking = { reasoning: reasoningOf(request), variables: {} };
    const continueFinal = hasPrefill(request);
    const how = { use, thinking, call, continueFinal };
    const prompt = await chatPrompt(lease.model, chatMessagesOf(request), how);
    return json({ input_tokens: prompt.length });
  },
});

async function answer(request: MessagesBody, call: RequestContext): Promise<Response> {
  const prepare = (model: TextModel) => taskOf(request, model, call);
  const isStreamed = request.stream === true;
  const generation = await startGeneration(call, request.model ?? undefined, prepare, isStreamed);
  const writer = new MessageWriter(generation, request.thinking?.display === 'omitted');
  if (request.stream) return respondWithEvents(call, generation, streamed(writer, generation), PING);
  for await (const event of generation.events) for (const _event of writer.take(event));
  return json(writer.message());
}

async function taskOf(
  request: MessagesBody,
  model: TextModel,
  call: RequestContext,
): Promise<GenerationTask> {
  const use = toolUseOf(request);
  const reasoning = reasoningOf(request);
  const thinking = { reasoning, variables: {} };
  const continueFinal = hasPrefill(request);
  const how = { use, thinking, call, continueFinal };
  const prompt = await chatPrompt(model, chatMessagesOf(request), how);
  const form = answerForm(textConstraintOf(request), use);
  if (continueFinal) refuseConstrainedPrefill(form, `messages.${request.messages.length - 1}`);
  const { stop: strings } = request;
  const stop = request.stop_sequences ?? (typeof strings === 'string' ? [strings] : strings) ?? [];
  const options = generateOptions(model, request, {
    stop,
    maxTokens: request.max_tokens ?? undefined,
    adapters: adaptersOf(model, request),
    continues: continueFinal,
  });
  return {
    prompts: [truncatedPrompt(model, request, prompt)],
    options,
    choices: 1,
    form,
    reasoning,
  };
}

/** Tells that the stream is alive; clients skip it. */
const PING = named({ type: 'ping' });

async function* streamed(
  writer: MessageWriter,
  generation: StartedGeneration,
): AsyncGenerator<StreamEvent, void> {
  yield named(writer.start());
  yield PING;
  for await (const event of generation.events) for (const made of writer.take(event)) yield named(made);
}

function named(event: MessageEvent): StreamEvent {
  return { name: event.type, data: JSON.stringify(event) };
}
