import { z } from 'zod';
import { listOf } from '../fields/list-of.ts';
import type { ChatMessage, ChatTool } from '../../text/index.ts';
import { invalid } from '../endpoint.ts';
import { jsonSchema, toolName } from '../generation/answer-form.ts';

const textPart = z.object({ type: z.string(), text: z.string().nullish() });

const functionCall = z.object({
  id: z.string().nullish(),
  type: z.literal('function').nullish(),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

/** A message of OpenAI's chat. */
export const messageSchema = z.object({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: z.union([z.string(), listOf(textPart)]).nullish(),
  name: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  tool_calls: listOf(functionCall).nullish(),
  tool_call_id: z.string().nullish(),
  function_call: functionCall.shape.function.nullish(),
});

/** A tool of OpenAI's chat. */
export const toolSchema = z.object({
  type: z.literal('function'),
  function: z.object({
    name: toolName,
    description: z.string().nullish(),
    parameters: jsonSchema.nullish(),
    strict: z.boolean().nullish(),
  }),
});

/** Messages in the form that templates expect. Throws `REQUEST_INVALID` for parts that are not text. */
export function chatMessages(messages: readonly z.output<typeof messageSchema>[]): ChatMessage[] {
  return messages.map((message, index) => {
    const { content, name, reasoning_content, tool_call_id } = message;
    return {
      role: ROLES[message.role] ?? message.role,
      content: textOf(content, `messages.${index}.content`),
      ...(name ? { name } : {}),
      ...(reasoning_content ? { reasoning_content } : {}),
      ...(tool_call_id ? { tool_call_id } : {}),
      ...callsOf(message),
    };
  });
}

/** Roles that have newer names. */
const ROLES: Readonly<Partial<Record<string, 'system' | 'tool'>>> = { developer: 'system', function: 'tool' };

/** The calls of an assistant's message, by whichever of the API's names. */
function callsOf({
  tool_calls,
  function_call,
}: z.output<typeof messageSchema>): Pick<ChatMessage, 'tool_calls'> {
  const calls = (tool_calls ?? []).map((call) => ({
    ...(call.id ? { id: call.id } : {}),
    type: 'function' as const,
    function: call.function,
  }));
  if (function_call) calls.push({ type: 'function', function: function_call });
  return calls.length > 0 ? { tool_calls: calls } : {};
}

/** The text of a content, which may be given in parts. */
export function textOf(
  content: string | readonly z.output<typeof textPart>[] | null | undefined,
  field: string,
): string {
  if (typeof content === 'string') return content;
  const parts = (content ?? []).map(({ type, text }, index) => {
    const isText = type === 'text' || type === 'input_text' || type === 'output_text';
    return isText && typeof text === 'string'
      ? text
      : invalid(`${field}.${index}`, 'only text is understood');
  });
  return parts.join('');
}

/** Functions in the form that templates expect. */
export function chatTools(tools: readonly z.output<typeof toolSchema>[]): ChatTool[] {
  return tools.map(({ type, function: { name, description, parameters, strict } }) => ({
    type,
    function: {
      name,
      ...(description ? { description } : {}),
      ...(strict ? { strict } : {}),
      parameters: parameters ?? { type: 'object', properties: {} },
    },
  }));
}
