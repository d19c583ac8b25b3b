import { z } from 'zod';
import { listOf } from '../fields/list-of.ts';
import type { ChatMessage } from '../../text/index.ts';
import { invalid } from '../endpoint.ts';
import { constraintFields, constraintOf } from '../generation/constraint-fields.ts';
import { reasoningFields } from '../generation/reasoning-fields.ts';
import { adapterField } from '../generation/adapter-field.ts';
import { jsonSchema, type TextConstraint, toolName, type ToolUse } from '../generation/answer-form.ts';
import { logprobsField, modelField, samplingFields, tokensField } from '../generation/sampling-fields.ts';
import { chatTools, textOf } from './chat-messages.ts';

const part = z.looseObject({ type: z.string(), text: z.string().nullish() });

const text = z.union([z.string(), listOf(part)]);

const item = z.looseObject({
  type: z.string().nullish(),
  role: z.enum(['system', 'developer', 'user', 'assistant']).nullish(),
  content: text.nullish(),
});

const textFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({ type: z.literal('json_schema'), schema: jsonSchema }),
]);

const tool = z.looseObject({
  type: z.literal('function', 'only functions are supported'),
  name: toolName,
  description: z.string().nullish(),
  parameters: jsonSchema.nullish(),
});

/** The body of a responses request, according to OpenAI's API reference. */
export const responsesBody = z.object({
  model: modelField,
  input: z.union([z.string(), listOf(item, { min: 1 })]),
  instructions: z.string().nullish(),
  max_output_tokens: tokensField,
  ...samplingFields,
  ...constraintFields,
  ...reasoningFields,
  top_logprobs: logprobsField,
  lora: adapterField,
  stream: z.boolean().nullish(),
  text: z.object({ format: textFormat.nullish() }).nullish(),
  tools: listOf(tool, { max: 128 }).nullish(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.object({ type: z.literal('function'), name: z.string() }),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  reasoning: z.object({ effort: z.string().nullish() }).nullish(),
  metadata: z
    .record(z.string(), z.unknown())
    .refine(
      (given) => Object.values(given).every((value) => typeof value === 'string'),
      'its values are strings',
    )
    .nullish()
    .describe('It comes back with the response.'),
});

/** A responses request. */
export type ResponsesBody = z.output<typeof responsesBody>;

/** The form that a request asks for. */
export function textConstraintOf(request: ResponsesBody): TextConstraint {
  const format = request.text?.format;
  const json = format?.type === 'json_object' ? { json: true } : {};
  return constraintOf(
    request,
    format?.type === 'json_schema' ? { schema: format.schema } : json,
    'text.format',
  );
}

/** The functions of a request. */
export function toolUseOf({ tools, tool_choice, parallel_tool_calls }: ResponsesBody): ToolUse {
  const functions = (tools ?? []).map((described) => ({ type: 'function' as const, function: described }));
  return {
    tools: chatTools(functions),
    choice: tool_choice ?? 'auto',
    isParallel: parallel_tool_calls !== false,
  };
}

/** Messages in the form that templates expect. Throws `REQUEST_INVALID` for unknown items. */
export function chatMessagesOfItems({ input, instructions }: ResponsesBody): ChatMessage[] {
  const turns: ChatMessage[] = instructions ? [{ role: 'system', content: instructions }] : [];
  if (typeof input === 'string') return [...turns, { role: 'user', content: input }];
  for (const [index, entry] of input.entries()) {
    const field = `input.${index}`;
    const { type = 'message', role, content } = entry;
    if (type === 'message' && role) {
      const turn = {
        role: role === 'developer' ? ('system' as const) : role,
        content: textOf(content, `${field}.content`),
      };
      addTurn(turns, turn);
    } else if (type === 'function_call') addCall(turns, entry, field);
    else if (type === 'function_call_output') turns.push(resultTurn(entry, field));
    else if (type === 'reasoning') addReasoning(turns, entry);
    else invalid(field, `items of type ${type} are not understood`);
  }
  return turns;
}

/** The reasoning before an answer belongs to its message. */
function addReasoning(turns: ChatMessage[], { content }: z.output<typeof item>): void {
  const reasoning =
    typeof content === 'string' ? content : (content ?? []).map((of) => of.text ?? '').join('');
  if (reasoning !== '') turns.push({ role: 'assistant', content: '', reasoning_content: reasoning });
}

function addTurn(turns: ChatMessage[], turn: ChatMessage & { content: string }): void {
  const last = turns.at(-1);
  const isOfLast =
    turn.role === 'assistant' && last?.role === 'assistant' && last.content === '' && !last.tool_calls;
  if (isOfLast) turns[turns.length - 1] = { ...last, content: turn.content };
  else turns.push(turn);
}

/** Adjacent calls belong to one message. */
function addCall(turns: ChatMessage[], entry: z.output<typeof item>, field: string): void {
  const { name, arguments: json, call_id: id } = entry;
  if (typeof name !== 'string' || typeof json !== 'string' || typeof id !== 'string') {
    invalid(field, 'a function_call has call_id, name and arguments');
  }
  const call = { id, type: 'function' as const, function: { name, arguments: json } };
  const last = turns.at(-1);
  if (last?.role === 'assistant') {
    turns[turns.length - 1] = { ...last, tool_calls: [...(last.tool_calls ?? []), call] };
  } else turns.push({ role: 'assistant', content: '', tool_calls: [call] });
}

function resultTurn({ call_id: id, output }: z.output<typeof item>, field: string): ChatMessage {
  const { success, data } = text.safeParse(output);
  if (typeof id !== 'string' || !success) {
    invalid(field, 'a function_call_output has call_id, a text, and output, a text or its parts');
  }
  return { role: 'tool', tool_call_id: id, content: textOf(data, `${field}.output`) };
}
