import { BACKGROUND_PRIORITY } from '../background-work.ts';
import type { TextModel } from '../../engine/text-model.ts';
import type { RequestContext } from '../request-context.ts';
import { json, postEndpoint } from '../endpoint.ts';
import { errorBody } from '../error-response.ts';
import type { StreamEvent } from '../event-stream.ts';
import { OTHER_FIELDS } from '../fields/other-fields.ts';
import { adaptersOf } from '../generation/adapter-field.ts';
import { answerForm, type PromptContext, type ToolUse } from '../generation/answer-form.ts';
import { type RequestedReasoning, requestedReasoning } from '../generation/reasoning-fields.ts';
import { respondWithEvents } from '../generation/respond.ts';
import { type StartedGeneration, startGeneration, type GenerationTask } from '../generation/run-task.ts';
import { generateOptions, truncatedPrompt } from '../generation/sampling-fields.ts';
import { telemetryOf, told } from '../generation/telemetry.ts';
import { responsePrompt } from './response-prompt.ts';
import { ResponseTurn } from './response-turn.ts';
import { QUEUED, type ResponseHead, responseObject, ResponseWriter } from './response-writer.ts';
import { type ResponsesBody, responsesBody, textConstraintOf, toolUseOf } from './responses-schema.ts';

/** `POST /v1/responses`, according to OpenAI's API reference, without built-in tools. */
export const responsesEndpoint = postEndpoint({
  path: '/v1/responses',
  summary: 'Answers an input, in the shape of OpenAI’s responses.',
  body: responsesBody,
  others: OTHER_FIELDS,
  handle: async (request, call) => {
    const turn = await ResponseTurn.open(request, call);
    if (request.background) return json(await beginInBackground(request, turn, call));
    const prepare = (model: TextModel) => taskOf(request, turn, { model, call });
    const isStreamed = request.stream === true;
    const generation = await startGeneration(call, request.model ?? undefined, prepare, isStreamed);
    const writer = new ResponseWriter(request, headOf(turn, generation.id), generation);
    if (request.stream) {
      return respondWithEvents(call, generation, streamed(writer, generation, turn));
    }
    return json(await wholeResponse(writer, generation, turn));
  },
});

function headOf({ id, created, conversation }: ResponseTurn, model: string): ResponseHead {
  return { id, created, conversation, model };
}

async function wholeResponse(
  writer: ResponseWriter,
  generation: StartedGeneration,
  turn: ResponseTurn,
): Promise<object> {
  for await (const event of generation.events) for (const _event of writer.take(event));
  await keep(writer, turn);
  return writer.response();
}

async function keep(writer: ResponseWriter, turn: ResponseTurn): Promise<void> {
  writer.isStored = await turn.keep((isStored) => {
    writer.isStored = isStored;
    return writer.response();
  });
}

/** Stores a response that has not begun, begins it, and resolves to it. */
async function beginInBackground(
  request: ResponsesBody,
  turn: ResponseTurn,
  call: RequestContext,
): Promise<object> {
  const { server, endpoint, caller } = call;
  const model = request.model ?? server.pool.list()[0]?.id ?? '';
  server.pool.statusOf(model);
  const head = headOf(turn, model);
  const queued = responseObject(request, head, QUEUED);
  await turn.put(queued);
  const { url, method } = call.request;
  const own = server.begin(endpoint, new Request(url, { method }), { priority: BACKGROUND_PRIORITY });
  own.identify(caller);
  server.background.start(turn.id, own, async () => {
    try {
      const generation = await startGeneration(own, request.model ?? undefined, (of) =>
        taskOf(request, turn, { model: of, call: own }),
      );
      const writer = new ResponseWriter(request, head, generation);
      writer.isStored = true;
      await turn.put(writer.response());
      await wholeResponse(writer, generation, turn);
      own.end(200);
    } catch (error) {
      await putFailure(request, turn, { head, own, error });
    }
  });
  return queued;
}

/** Stores a response that failed or was cancelled. */
async function putFailure(
  request: ResponsesBody,
  turn: ResponseTurn,
  { head, own, error }: { head: ResponseHead; own: RequestContext; error: unknown },
): Promise<void> {
  const typed = own.errorOf(error);
  const { error: told } = errorBody(typed, 'openai') as { error: { code: string; message: string } };
  const isCancelled = typed.code === 'ABORTED' && !own.server.isDraining();
  const end = isCancelled
    ? ({ status: 'cancelled', error: null } as const)
    : ({ status: 'failed', error: { code: told.code, message: told.message } } as const);
  try {
    await turn.put(responseObject(request, head, { ...QUEUED, ...end }));
  } catch (failure) {
    own.server.logger.warn('response not stored', { id: own.id, code: own.errorOf(failure).code });
  }
  own.end(isCancelled ? undefined : typed.status);
}

/** The prompt of a response, the functions that it may call, and its reasoning. Rejects as `chatPrompt`. */
async function promptOf(
  request: ResponsesBody,
  turn: ResponseTurn,
  { model, call }: { model: TextModel; call: PromptContext },
): Promise<{ prompt: number[]; use: ToolUse; thinking: RequestedReasoning }> {
  const use = toolUseOf(request);
  const asked = { ...request, reasoning_effort: request.reasoning?.effort ?? request.reasoning_effort };
  const thinking = requestedReasoning(model, asked, call.server.reasoning);
  return { prompt: await responsePrompt(model, request, turn.items, { use, thinking, call }), use, thinking };
}

/** `POST /v1/responses/input_tokens`, according to OpenAI's API reference. Accepts the fields of a response. */
export const responseTokensEndpoint = postEndpoint({
  path: '/v1/responses/input_tokens',
  summary: 'Counts the tokens of a response’s input.',
  body: responsesBody,
  handle: async (request, call) => {
    const { pool, gate } = call.server;
    // Encoding occupies the thread, so these requests are limited like others.
    using _place = gate.admit(call.tenant);
    const turn = await ResponseTurn.open(request, call);
    using lease = await pool.acquire(request.model ?? undefined, call.signal);
    const { prompt } = await promptOf(request, turn, { model: lease.model, call });
    return json({ object: 'response.input_tokens', input_tokens: prompt.length });
  },
});

async function taskOf(
  request: ResponsesBody,
  turn: ResponseTurn,
  of: { model: TextModel; call: PromptContext },
): Promise<GenerationTask> {
  const { model } = of;
  const { prompt, use, thinking } = await promptOf(request, turn, of);
  const withLogprobs = request.include?.includes('message.output_text.logprobs');
  const options = generateOptions(model, request, {
    maxTokens: request.max_output_tokens ?? undefined,
    logProbabilities: request.top_logprobs ?? (withLogprobs ? 0 : -1),
    adapters: adaptersOf(model, request),
    continues: false,
  });
  return {
    prompts: [truncatedPrompt(model, request, prompt)],
    options,
    choices: 1,
    form: answerForm(textConstraintOf(request), use),
    telemetry: telemetryOf(request),
    reasoning: thinking.reasoning,
  };
}

async function* streamed(
  writer: ResponseWriter,
  generation: StartedGeneration,
  turn: ResponseTurn,
): AsyncGenerator<StreamEvent, void> {
  let sequence_number = 0;
  const named = (event: { type: string }): StreamEvent => {
    const data = JSON.stringify({ ...event, sequence_number: sequence_number++ });
    return { name: event.type, data };
  };
  for (const event of writer.start()) yield named(event);
  let last = {};
  for await (const event of generation.events) {
    last = told(event);
    for (const made of writer.take(event)) yield named({ ...made, ...last });
  }
  await keep(writer, turn);
  yield named({ ...writer.finish(), ...last });
}
