import { z } from 'zod';
import {
  choicesField,
  logprobsField,
  modelField,
  samplingFields,
  streamFields,
  tokensField,
} from '../generation/sampling-fields.ts';
import { messageSchema } from './chat-messages.ts';

/** A chat request, as OpenAI's API reference describes it. */
export const chatBody = z.object({
  model: modelField,
  messages: z.array(messageSchema).min(1),
  ...samplingFields,
  ...streamFields,
  n: choicesField,
  max_tokens: tokensField,
  max_completion_tokens: tokensField,
  logprobs: z.boolean().nullish(),
  top_logprobs: logprobsField,
  chat_template_kwargs: z
    .record(z.string(), z.unknown())
    .nullish()
    .describe('Variables for the chat template, such as enable_thinking.'),
});

/** A chat request. */
export type ChatBody = z.output<typeof chatBody>;
