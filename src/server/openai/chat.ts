import type { TextModel } from '../../engine/text-model.ts';
import type { RequestContext } from '../request-context.ts';
import { json, postEndpoint } from '../endpoint.ts';
import { OTHER_FIELDS } from '../fields/other-fields.ts';
import { adaptersOf } from '../generation/adapter-field.ts';
import { answerForm, chatPrompt, refuseConstrainedPrefill } from '../generation/answer-form.ts';
import { requestedReasoning } from '../generation/reasoning-fields.ts';
import { respondWithEvents } from '../generation/respond.ts';
import { startGeneration, type GenerationTask, type StartedGeneration } from '../generation/run-task.ts';
import { telemetryOf } from '../generation/telemetry.ts';
import { generateOptions, maxTokensOf, truncatedPrompt } from '../generation/sampling-fields.ts';
import { generationSettings, textOfPrompt } from '../generation/generation-settings.ts';
import { ChatAnswer } from './chat-answer.ts';
import { chatChunks, fingerprintOf } from './chat-chunks.ts';
import { type ChatBody, chatBody, conversationEnd, isLegacy, toolUseOf } from './chat-body.ts';
import { textConstraintOf } from './response-format.ts';
import { chatMessages } from './chat-messages.ts';
import { keepChat } from './stored-chats.ts';
import { freshId, nowSeconds } from '../fresh-id.ts';
import type { ChoiceEvents } from '../generation/choice-event.ts';

/** `POST /v1/chat/completions`, according to OpenAI's API reference. */
export const chatEndpoint = postEndpoint({
  path: '/v1/chat/completions',
  summary: 'Answers a conversation.',
  body: chatBody,
  others: OTHER_FIELDS,
  handle: answerChat,
});

async function answerChat(request: ChatBody, call: RequestContext): Promise<Response> {
  const prepare = (model: TextModel) => taskOf(request, model, call);
  const isStreamed = request.stream === true;
  const generation = await startGeneration(call, request.model ?? undefined, prepare, isStreamed);
  const head = {
    id: freshId('chatcmpl-'),
    created: nowSeconds(),
    model: generation.id,
    ...fingerprintOf(call),
  };
  const answer = new ChatAnswer(generation.model.tokenizer, {
    withLogprobs: request.logprobs === true,
    isLegacy: isLegacy(request),
  });
  const isVerbose = request.verbose ?? call.server.isVerbose;
  const verbose = isVerbose ? { __verbose: verboseFields(generation, request.stream === true) } : {};
  const whole = () => {
    return { ...head, object: 'chat.completion', ...answer.finish(generation.promptTokens), ...verbose };
  };
  if (request.stream) {
    const store = async () => void (await keepChat(call, request, whole()));
    const events = request.store ? collected(generation.events, answer, store) : generation.events;
    return respondWithEvents(
      call,
      generation,
      chatChunks(request, { ...generation, events }, { head, verbose }),
    );
  }
  for await (const event of generation.events) answer.add(event);
  return json(request.store ? await keepChat(call, request, whole()) : whole());
}

/** What llama.cpp's server tells of a request for which it is verbose: its prompt with control tokens, and its settings. */
function verboseFields({ model, task }: StartedGeneration, isStreamed: boolean): object {
  const [prompt = []] = task.prompts;
  return {
    prompt: textOfPrompt(model, prompt),
    generation_settings: generationSettings(model, task.options, isStreamed),
  };
}

/** The events, which are also added to an answer; it is stored before the last of them has been taken. */
async function* collected(
  events: ChoiceEvents,
  answer: ChatAnswer,
  store: () => Promise<void>,
): ChoiceEvents {
  for await (const event of events) {
    answer.add(event);
    yield event;
  }
  await store();
}

async function taskOf(request: ChatBody, model: TextModel, call: RequestContext): Promise<GenerationTask> {
  const { logprobs, top_logprobs, n } = request;
  const use = toolUseOf(request);
  const thinking = requestedReasoning(model, request, call.server.reasoning);
  const end = conversationEnd(request, call.server);
  const prompt = await chatPrompt(model, chatMessages(request.messages), {
    use,
    thinking,
    call,
    ...end,
  });
  const form = answerForm(textConstraintOf(request), use);
  if (end.continueFinal) refuseConstrainedPrefill(form, 'continue_final_message');
  const maxTokens = maxTokensOf(request);
  const logProbabilities = logprobs ? (top_logprobs ?? 0) : -1;
  const namedTokens = (logprobs && request.logprob_token_ids) || undefined;
  const adapters = adaptersOf(model, request);
  const options = generateOptions(model, request, {
    maxTokens,
    logProbabilities,
    namedTokens,
    adapters,
    continues: end.continueFinal,
  });
  return {
    prompts: [truncatedPrompt(model, request, prompt)],
    options,
    choices: n ?? 1,
    telemetry: telemetryOf(request),
    form,
    reasoning: thinking.reasoning,
  };
}
