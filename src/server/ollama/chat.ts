import { z } from 'zod';
import type { TextModel } from '../../engine/text-model.ts';
import type { ChatMessage } from '../../text/index.ts';
import { json, postEndpoint } from '../endpoint.ts';
import { listOf } from '../fields/list-of.ts';
import { answerForm, chatPrompt, type ToolUse } from '../generation/answer-form.ts';
import { startGeneration, type GenerationTask } from '../generation/run-task.ts';
import { chatTools, toolSchema } from '../openai/chat-messages.ts';
import type { RequestContext } from '../request-context.ts';
import { AnswerLines, type OllamaPiece } from './answer-lines.ts';
import {
  keepLoaded,
  loadOrUnload,
  modelName,
  OLLAMA_FIELDS,
  ollamaFields,
  ollamaConstraint,
  ollamaOptions,
  ollamaReasoning,
} from './ollama-fields.ts';

const message = z.object({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string().nullish(),
  thinking: z.string().nullish(),
  tool_name: z.string().nullish(),
  tool_calls: listOf(
    z.object({ function: z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()) }) }),
  ).nullish(),
});

const body = z.object({
  ...ollamaFields,
  messages: listOf(message).nullish().describe('The conversation; without one the model is only loaded.'),
  tools: listOf(toolSchema, { max: 128 }).nullish(),
});

type ChatBody = z.output<typeof body>;

/** `POST /api/chat`, according to Ollama's API reference. */
export const ollamaChatEndpoint = postEndpoint({
  path: '/api/chat',
  summary: 'Answers a conversation, in the format of Ollama.',
  dialect: 'ollama',
  body,
  others: OLLAMA_FIELDS,
  handle: async (request, call) => {
    if (!request.messages?.length) {
      return json({ ...(await loadOrUnload(request, call)), message: { role: 'assistant', content: '' } });
    }
    const name = modelName(request.model);
    const generation = await startGeneration(call, name, (model) => {
      keepLoaded(name, request.keep_alive, call.server.pool);
      return taskOf(request, model, call);
    });
    return new AnswerLines(generation, messageOf).respond(call, request.stream !== false);
  },
});

async function taskOf(request: ChatBody, model: TextModel, call: RequestContext): Promise<GenerationTask> {
  const tools = chatTools(request.tools ?? []);
  const use: ToolUse = { tools, choice: 'auto', isParallel: true };
  const reasoning = ollamaReasoning(request);
  const thinking = { reasoning, variables: {} };
  const prompt = await chatPrompt(model, (request.messages ?? []).map(turnOf), { use, thinking, call });
  const options = ollamaOptions(model, request, { continues: false });
  return {
    prompts: [prompt],
    options,
    choices: 1,
    form: answerForm(ollamaConstraint(request), use),
    reasoning,
  };
}

function turnOf({ role, content, thinking, tool_name, tool_calls }: z.output<typeof message>): ChatMessage {
  const calls = (tool_calls ?? []).map((call) => ({ type: 'function' as const, function: call.function }));
  return {
    role,
    content: content ?? '',
    ...(thinking ? { reasoning_content: thinking } : {}),
    ...(tool_name ? { name: tool_name } : {}),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}

function messageOf({ text, thinking, calls }: OllamaPiece): object {
  return {
    message: {
      role: 'assistant',
      content: text,
      ...(thinking !== '' && { thinking }),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
  };
}
