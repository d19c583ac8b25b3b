import type { TextModel } from '../../engine/text-model.ts';
import type { RequestContext } from '../request-context.ts';
import { json, postEndpoint } from '../endpoint.ts';
import type { StreamEvent } from '../event-stream.ts';
import { OTHER_FIELDS } from '../fields/other-fields.ts';
import { adaptersOf } from '../generation/adapter-field.ts';
import { answerForm, chatPrompt } from '../generation/answer-form.ts';
import { requestedReasoning } from '../generation/reasoning-fields.ts';
import { respondWithEvents } from '../generation/respond.ts';
import { type StartedGeneration, startGeneration, type GenerationTask } from '../generation/run-task.ts';
import { generateOptions, truncatedPrompt } from '../generation/sampling-fields.ts';
import { ResponseWriter } from './response-writer.ts';
import {
  chatMessagesOfItems,
  type ResponsesBody,
  responsesBody,
  textConstraintOf,
  toolUseOf,
} from './responses-schema.ts';

/** `POST /v1/responses`, according to OpenAI's API reference, without storage and built-in tools. */
export const responsesEndpoint = postEndpoint({
  path: '/v1/responses',
  summary: 'Answers an input, in the shape of OpenAI’s responses.',
  body: responsesBody,
  others: OTHER_FIELDS,
  handle: respond,
});

async function respond(request: ResponsesBody, call: RequestContext): Promise<Response> {
  const generation = await startGeneration(call, request.model ?? undefined, (model) =>
    taskOf(request, model, call.signal),
  );
  const writer = new ResponseWriter(request, generation);
  if (request.stream) return respondWithEvents(call, generation, streamed(writer, generation));
  for await (const event of generation.events) for (const _event of writer.take(event));
  return json(writer.response());
}

async function taskOf(
  request: ResponsesBody,
  model: TextModel,
  signal: AbortSignal,
): Promise<GenerationTask> {
  const use = toolUseOf(request);
  const thinking = requestedReasoning(model, {
    ...request,
    reasoning_effort: request.reasoning?.effort ?? request.reasoning_effort,
  });
  const prompt = await chatPrompt(model, chatMessagesOfItems(request), { use, thinking, signal });
  const options = generateOptions(model, request, {
    maxTokens: request.max_output_tokens ?? Number.POSITIVE_INFINITY,
    logProbabilities: request.top_logprobs ?? -1,
    adapters: adaptersOf(model, request),
    continues: false,
  });
  return {
    prompts: [truncatedPrompt(model, request, prompt)],
    options,
    choices: 1,
    form: answerForm(textConstraintOf(request), use),
    reasoning: thinking.reasoning,
  };
}

async function* streamed(
  writer: ResponseWriter,
  generation: StartedGeneration,
): AsyncGenerator<StreamEvent, void> {
  let sequence_number = 0;
  const named = (event: { type: string }): StreamEvent => {
    const data = JSON.stringify({ ...event, sequence_number: sequence_number++ });
    return { name: event.type, data };
  };
  for (const event of writer.start()) yield named(event);
  for await (const event of generation.events) for (const made of writer.take(event)) yield named(made);
}
