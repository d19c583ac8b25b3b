import { z } from 'zod';
import type { ChatMessage } from '../../text/index.ts';
import { invalid } from '../endpoint.ts';
import { logprobsField, modelField, tokensField } from '../generation/sampling-fields.ts';
import { textOf } from './chat-messages.ts';

const part = z.looseObject({ type: z.string(), text: z.string().nullish() });

const item = z.looseObject({
  type: z.string().nullish(),
  role: z.enum(['system', 'developer', 'user', 'assistant']).nullish(),
  content: z.union([z.string(), z.array(part)]).nullish(),
});

/** A request for a response, as OpenAI's API reference describes it. */
export const responsesBody = z.object({
  model: modelField,
  input: z.union([z.string(), z.array(item).min(1)]),
  instructions: z.string().nullish(),
  max_output_tokens: tokensField,
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  top_logprobs: logprobsField,
  stream: z.boolean().nullish(),
  store: z.boolean().nullish().describe('Responses are not stored, whatever is asked for.'),
  previous_response_id: z.string().nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
});

/** A responses request. */
export type ResponsesBody = z.output<typeof responsesBody>;

/** Turns in the shape that templates read. Throws `REQUEST_INVALID` for items that are not understood. */
export function chatMessagesOfItems({ input, instructions }: ResponsesBody): ChatMessage[] {
  const turns: ChatMessage[] = instructions ? [{ role: 'system', content: instructions }] : [];
  if (typeof input === 'string') return [...turns, { role: 'user', content: input }];
  for (const [index, entry] of input.entries()) {
    const field = `input.${index}`;
    const { type = 'message', role, content } = entry;
    if (type === 'message' && role) {
      const turn = {
        role: role === 'developer' ? 'system' : role,
        content: textOf(content, `${field}.content`),
      };
      turns.push(turn);
    } else if (type === 'function_call') addCall(turns, entry, field);
    else if (type === 'function_call_output') turns.push(resultTurn(entry, field));
    // What a model thought is not read again.
    else if (type !== 'reasoning') invalid(field, `items of type ${type} are not understood`);
  }
  return turns;
}

/** Calls that stand side by side belong to one turn. */
function addCall(turns: ChatMessage[], entry: z.output<typeof item>, field: string): void {
  const { name, arguments: text, call_id: id } = entry;
  if (typeof name !== 'string' || typeof text !== 'string' || typeof id !== 'string') {
    invalid(field, 'a function_call has call_id, name and arguments');
  }
  const call = { id, type: 'function' as const, function: { name, arguments: text } };
  const last = turns.at(-1);
  if (last?.role === 'assistant') {
    turns[turns.length - 1] = { ...last, tool_calls: [...(last.tool_calls ?? []), call] };
  } else turns.push({ role: 'assistant', content: '', tool_calls: [call] });
}

function resultTurn({ call_id: id, output }: z.output<typeof item>, field: string): ChatMessage {
  if (typeof id !== 'string' || typeof output !== 'string') {
    invalid(field, 'a function_call_output has call_id and output, both texts');
  }
  return { role: 'tool', tool_call_id: id, content: output };
}
