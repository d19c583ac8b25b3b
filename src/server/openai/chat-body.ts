import { z } from 'zod';
import { listOf } from '../fields/list-of.ts';
import { invalid } from '../endpoint.ts';
import {
  choicesField,
  logprobsField,
  namedTokensField,
  llamaTokensField,
  modelField,
  samplingFields,
  streamFields,
  tokensField,
} from '../generation/sampling-fields.ts';
import { reasoningFields } from '../generation/reasoning-fields.ts';
import { constraintFields } from '../generation/constraint-fields.ts';
import { telemetryFields } from '../generation/telemetry.ts';
import { adapterField } from '../generation/adapter-field.ts';
import { type ToolUse } from '../generation/answer-form.ts';
import { metadataField } from './responses-schema.ts';
import { responseFormat } from './response-format.ts';
import { chatTools, messageSchema, toolSchema } from './chat-messages.ts';

/** A chat request, according to OpenAI's API reference. */
export const chatBody = z.object({
  model: modelField,
  messages: listOf(messageSchema, { min: 1 }),
  ...samplingFields,
  ...streamFields,
  ...telemetryFields,
  verbose: z
    .boolean()
    .nullish()
    .describe(
      'The answer also tells, in __verbose, the prompt as text and all settings, as with --verbose-answers.',
    ),
  lora: adapterField,
  n: choicesField,
  max_tokens: tokensField,
  max_completion_tokens: tokensField,
  n_predict: llamaTokensField,
  logprobs: z.boolean().nullish(),
  top_logprobs: logprobsField,
  logprob_token_ids: namedTokensField,
  response_format: responseFormat.nullish(),
  ...constraintFields,
  tools: listOf(toolSchema, { max: 128 }).nullish(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) }),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  functions: listOf(toolSchema.shape.function, { max: 128 })
    .nullish()
    .describe('Functions to call, by the older names: the answer has a function_call.'),
  function_call: z
    .union([z.enum(['none', 'auto']), z.object({ name: z.string() })])
    .nullish()
    .describe('Which of the functions is called.'),
  ...reasoningFields,
  store: z.boolean().nullish().describe('Whether the answer can be requested again. Default false.'),
  metadata: metadataField,
  continue_final_message: z
    .boolean()
    .nullish()
    .describe("The last message, the assistant's, is the beginning of the answer, as in vLLM."),
  add_generation_prompt: z
    .boolean()
    .nullish()
    .describe("Begins the assistant's turn behind the messages. Default true."),
});

/** A chat request. */
export type ChatBody = z.output<typeof chatBody>;

/** The functions of a chat request. */
export function toolUseOf(request: ChatBody): ToolUse | undefined {
  const { tools, tool_choice, parallel_tool_calls, functions, function_call } = request;
  if (isLegacy(request)) {
    if (tools?.length) invalid('functions', 'tools are there, too');
    const described = (functions ?? []).map((of) => ({ type: 'function' as const, function: of }));
    return { tools: chatTools(described), choice: function_call ?? 'auto', isParallel: false };
  }
  const choice =
    typeof tool_choice === 'object' ? (tool_choice?.function ?? 'auto') : (tool_choice ?? 'auto');
  return { tools: chatTools(tools ?? []), choice, isParallel: parallel_tool_calls !== false };
}

/** Whether functions are called by the names that the API had before tools. */
export function isLegacy({ functions, function_call }: ChatBody): boolean {
  return (functions ?? function_call ?? undefined) !== undefined;
}

/**
 * How the conversation ends; with `--prefill-assistant`, an assistant's last message is continued unless the request says
 * otherwise. Throws `REQUEST_INVALID` where the request says two things of it.
 */
export function conversationEnd(
  request: ChatBody,
  { prefillsAssistant }: { readonly prefillsAssistant: boolean },
): { continueFinal: boolean; addGenerationPrompt: boolean } {
  const { add_generation_prompt: adds, messages } = request;
  const isOpen = messages.at(-1)?.role === 'assistant';
  const isUnsaid = (request.continue_final_message ?? adds ?? undefined) === undefined;
  const isPrefill = prefillsAssistant && isOpen && isUnsaid;
  if (isPrefill && messages.at(-2)?.role === 'assistant')
    invalid('messages', 'two messages of the assistant are at the end: which is to be continued?');
  if (!request.continue_final_message && !isPrefill) {
    return { continueFinal: false, addGenerationPrompt: adds !== false };
  }
  if (adds) invalid('add_generation_prompt', 'continue_final_message continues the last turn instead');
  if (!isOpen) invalid('continue_final_message', 'the last message is not the assistant’s');
  return { continueFinal: true, addGenerationPrompt: true };
}
