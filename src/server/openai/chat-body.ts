import { z } from 'zod';
import {
  choicesField,
  logprobsField,
  llamaTokensField,
  modelField,
  samplingFields,
  streamFields,
  tokensField,
} from '../generation/sampling-fields.ts';
import { reasoningFields } from '../generation/reasoning-fields.ts';
import { holdFields } from '../generation/hold-fields.ts';
import { adapterField } from '../generation/adapter-field.ts';
import { type ToolUse } from '../generation/answer-form.ts';
import { responseFormat } from './response-format.ts';
import { chatTools, messageSchema, toolSchema } from './chat-messages.ts';

/** A chat request, according to OpenAI's API reference. */
export const chatBody = z.object({
  model: modelField,
  messages: z.array(messageSchema).min(1),
  ...samplingFields,
  ...streamFields,
  lora: adapterField,
  n: choicesField,
  max_tokens: tokensField,
  max_completion_tokens: tokensField,
  n_predict: llamaTokensField,
  logprobs: z.boolean().nullish(),
  top_logprobs: logprobsField,
  response_format: responseFormat.nullish(),
  ...holdFields,
  tools: z.array(toolSchema).max(128).nullish(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) }),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  ...reasoningFields,
});

/** A chat request. */
export type ChatBody = z.output<typeof chatBody>;

/** The functions of a chat request. */
export function toolUseOf({ tools, tool_choice, parallel_tool_calls }: ChatBody): ToolUse | undefined {
  const choice =
    typeof tool_choice === 'object' ? (tool_choice?.function ?? 'auto') : (tool_choice ?? 'auto');
  return { tools: chatTools(tools ?? []), choice, isParallel: parallel_tool_calls !== false };
}
