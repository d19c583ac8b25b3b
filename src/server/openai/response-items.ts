import { z } from 'zod';
import type { ChatMessage } from '../../text/index.ts';
import { invalid } from '../endpoint.ts';
import { listOf } from '../fields/list-of.ts';
import { freshId } from '../fresh-id.ts';
import { sealReasoning, unsealReasoning } from '../generation/sealed-reasoning.ts';
import { textOf } from './chat-messages.ts';

const part = z.object({ type: z.string(), text: z.string().nullish() });

const text = z.union([z.string(), listOf(part)]);

/** An item of an input, with the fields of every type that is understood. */
export const inputItem = z.object({
  type: z.string().nullish(),
  id: z.string().nullish(),
  status: z.string().nullish(),
  role: z.enum(['system', 'developer', 'user', 'assistant']).nullish(),
  content: text.nullish(),
  call_id: z.string().nullish(),
  name: z.string().nullish(),
  arguments: z.string().nullish(),
  output: text.nullish(),
  summary: listOf(part).nullish(),
  encrypted_content: z.string().nullish(),
});

/** An item of an input. */
export type InputItem = z.output<typeof inputItem>;

/** An item as it is stored and listed: it has an id. */
export interface ResponseItem {
  readonly id: string;
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The prefixes of the ids of items. */
const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg_',
  function_call: 'fc_',
  function_call_output: 'fco_',
  reasoning: 'rs_',
};

/**
 * The id of an item of a response, by its place in the input or the output. It has the response's own id in it, so that an
 * `item_reference` finds the item.
 */
export function itemId(prefix: string, response: string, place: `${'i' | 'o'}${number}`): string {
  return `${prefix}${response.replace(/^resp_/, '')}${place}`;
}

/** The response that an item belongs to, if its id tells. */
export function responseOfItem(id: string): string | undefined {
  const [, response] = /^[a-z]+_([\da-f]{32})[io]\d+$/.exec(id) ?? [];
  return response && `resp_${response}`;
}

/** Items as they are stored; `idOf` makes the ids of those that have none. Throws `REQUEST_INVALID` for unknown types; `field` is the name of their list. */
export function storedItems(
  items: readonly InputItem[],
  field: string,
  idOf: (prefix: string, index: number) => string = freshId,
): ResponseItem[] {
  return items.map((item, index) => {
    const type = item.type ?? 'message';
    const prefix = PREFIXES[type] ?? unknownItem(`${field}.${index}`, type);
    const given = Object.entries(item).filter(([, value]) => value !== null && value !== undefined);
    const { content, status = 'completed' } = item;
    const kind = item.role === 'assistant' ? 'output_text' : 'input_text';
    const parts = typeof content === 'string' ? { content: [{ type: kind, text: content }] } : {};
    return { ...Object.fromEntries(given), id: item.id ?? idOf(prefix, index), type, status, ...parts };
  });
}

/** The items of an input, which may be a text. */
export function itemsOf(input: string | readonly InputItem[]): readonly InputItem[] {
  return typeof input === 'string' ? [{ role: 'user', content: input }] : input;
}

/** Items with what a request wants to have of them. */
export function withIncluded<T extends object>(
  items: readonly T[],
  include: readonly string[] | null | undefined,
): T[] {
  if (!include?.includes('reasoning.encrypted_content')) return [...items];
  return items.map((item) => {
    const { type, content } = item as { type?: unknown; content?: unknown };
    if (type !== 'reasoning' || !Array.isArray(content)) return item;
    const reasoning = (content as { text?: string }[]).map((of) => of.text ?? '').join('');
    return { ...item, encrypted_content: sealReasoning(reasoning) };
  });
}

/**
 * Messages in the form that templates expect. `from` is the number of items that were stored before, and are not part of
 * the request. Throws `REQUEST_INVALID` for unknown items.
 */
export function chatMessagesOfItems(
  items: readonly InputItem[],
  instructions: string | null | undefined,
  from = 0,
): ChatMessage[] {
  const turns: ChatMessage[] = instructions ? [{ role: 'system', content: instructions }] : [];
  for (const [index, entry] of items.entries()) {
    const field = `input.${index - from}`;
    const { role, content } = entry;
    const type = entry.type ?? 'message';
    if (type === 'message' && role) {
      const turn = {
        role: role === 'developer' ? ('system' as const) : role,
        content: textOf(content, `${field}.content`),
      };
      addTurn(turns, turn);
    } else if (type === 'function_call') addCall(turns, entry, field);
    else if (type === 'function_call_output') turns.push(resultTurn(entry, field));
    else if (type === 'reasoning') addReasoning(turns, entry, field);
    else unknownItem(field, type);
  }
  return turns;
}

function unknownItem(field: string, type: string): never {
  if (type === 'message') invalid(field, 'a message has a role');
  invalid(field, `items of type ${type} are not understood`);
}

/** The reasoning before an answer belongs to its message. Clients may keep only one of its three forms. */
function addReasoning(turns: ChatMessage[], item: InputItem, field: string): void {
  const { content, summary, encrypted_content: sealed } = item;
  const plain = typeof content === 'string' ? content : textOfParts(content);
  const unsealed = plain === '' && sealed ? unsealReasoning(sealed) : '';
  if (unsealed === undefined) {
    invalid(`${field}.encrypted_content`, 'it was made by another server: send the content of the reasoning');
  }
  const reasoning = plain || unsealed || textOfParts(summary);
  if (reasoning !== '') turns.push({ role: 'assistant', content: '', reasoning_content: reasoning });
}

function textOfParts(parts: readonly z.output<typeof part>[] | null | undefined): string {
  return (parts ?? []).map((of) => of.text ?? '').join('');
}

function addTurn(turns: ChatMessage[], turn: ChatMessage & { content: string }): void {
  const last = turns.at(-1);
  const isOfLast =
    turn.role === 'assistant' && last?.role === 'assistant' && last.content === '' && !last.tool_calls;
  if (isOfLast) turns[turns.length - 1] = { ...last, content: turn.content };
  else turns.push(turn);
}

/** Adjacent calls belong to one message. */
function addCall(turns: ChatMessage[], entry: InputItem, field: string): void {
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

function resultTurn({ call_id: id, output }: InputItem, field: string): ChatMessage {
  if (typeof id !== 'string' || output === null || output === undefined) {
    invalid(field, 'a function_call_output has call_id, a text, and output, a text or its parts');
  }
  return { role: 'tool', tool_call_id: id, content: textOf(output, `${field}.output`) };
}
