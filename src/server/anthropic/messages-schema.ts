import { z } from 'zod';
import { listOf } from '../fields/list-of.ts';
import type { ChatMessage, ChatTool, ChatToolCall, ReasoningOptions } from '../../text/index.ts';
import { invalid } from '../endpoint.ts';
import { unsealReasoning } from '../generation/sealed-reasoning.ts';
import { jsonSchema, type TextConstraint, toolName, type ToolUse } from '../generation/answer-form.ts';
import { constraintFields, constraintOf } from '../generation/constraint-fields.ts';
import { adapterField } from '../generation/adapter-field.ts';
import { modelField, samplingFields, tokensField } from '../generation/sampling-fields.ts';

const textBlock = z.object({ type: z.string(), text: z.string().nullish() });
const texts = z.union([z.string(), listOf(textBlock)]);

/** A block of a message, with the fields of every type that is understood. */
const block = textBlock.extend({
  thinking: z.string().nullish(),
  signature: z.string().nullish(),
  id: z.string().nullish(),
  name: z.string().nullish(),
  input: z.unknown().optional(),
  tool_use_id: z.string().nullish(),
  content: texts.nullish(),
  is_error: z.boolean().nullish(),
});
const content = z.union([z.string(), listOf(block)]);

const message = z.object({ role: z.enum(['user', 'assistant', 'system']), content });

const tool = z.object({
  type: z.literal('custom', 'only tools of the client are supported').nullish(),
  name: toolName,
  description: z.string().nullish(),
  input_schema: jsonSchema,
  strict: z.boolean().nullish(),
});

const outputConfig = z.object({
  effort: z.string().nullish().describe('How much the model thinks, in a word that its template knows.'),
  format: z.object({ type: z.literal('json_schema'), schema: jsonSchema }).nullish(),
});

/** The fields of a request that make up the conversation. */
export const conversationFields = {
  model: modelField,
  system: texts.nullish(),
  messages: listOf(message, { min: 1 }),
  tools: listOf(tool, { max: 128 }).nullish(),
  tool_choice: z
    .object({
      type: z.enum(['auto', 'any', 'tool', 'none']),
      name: z.string().nullish(),
      disable_parallel_tool_use: z.boolean().nullish(),
    })
    .nullish(),
  output_config: outputConfig.nullish(),
  thinking: z
    .object({
      type: z.enum(['enabled', 'disabled', 'adaptive']),
      budget_tokens: z.int().min(0).nullish(),
      display: z
        .enum(['summarized', 'omitted'])
        .nullish()
        .describe('Whether the reasoning is shown, or only carried by the signature.'),
    })
    .nullish(),
};

/** The body of a messages request, according to Anthropic's API reference. */
export const messagesBody = z.object({
  ...conversationFields,
  max_tokens: tokensField,
  ...samplingFields,
  ...constraintFields,
  stop_sequences: listOf(z.string().min(1).max(1024), { max: 16 }).nullish(),
  lora: adapterField,
  stream: z.boolean().nullish(),
});

/** The form that a request asks for. */
export function textConstraintOf(request: z.output<typeof messagesBody>): TextConstraint {
  const format = request.output_config?.format;
  return constraintOf(request, format ? { schema: format.schema } : {}, 'output_config.format');
}

/** A conversation without the fields that control the answer. */
export type Conversation = Pick<z.output<typeof messagesBody>, 'messages' | 'system'>;

/** The functions of a request. Throws `REQUEST_INVALID`. */
export function toolUseOf(of: Pick<z.output<typeof messagesBody>, 'tools' | 'tool_choice'>): ToolUse {
  const { tools, tool_choice: choice } = of;
  const functions = (tools ?? []).map(
    ({ name, description, input_schema: parameters, strict }): ChatTool => ({
      type: 'function',
      function: { name, ...(description ? { description } : {}), ...(strict ? { strict } : {}), parameters },
    }),
  );
  const isParallel = choice?.disable_parallel_tool_use !== true;
  if (choice?.type === 'tool') {
    return {
      tools: functions,
      choice: { name: choice.name ?? invalid('tool_choice.name', 'expected a tool') },
      isParallel,
    };
  }
  return {
    tools: functions,
    choice: choice?.type === 'any' ? 'required' : (choice?.type ?? 'auto'),
    isParallel,
  };
}

/** The reasoning that a request asks for; `adaptive` leaves it to the model. */
export function reasoningOf({
  thinking,
  output_config: config,
}: Pick<z.output<typeof messagesBody>, 'thinking' | 'output_config'>): ReasoningOptions {
  const effort = config?.effort ?? undefined;
  if (!thinking || thinking.type === 'adaptive') return effort === undefined ? {} : { effort };
  return { enabled: thinking.type === 'enabled', budget: thinking.budget_tokens ?? undefined, effort };
}

/** Whether the last message is the beginning of the answer: the assistant's, without calls. */
export function hasPrefill({ messages }: Conversation): boolean {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return false;
  return typeof last.content === 'string' || last.content.every(({ type }) => type !== 'tool_use');
}

type Block = z.output<typeof block>;

/** Blocks of an answer that are not part of its text. */
const THOUGHTS: ReadonlySet<string> = new Set(['thinking', 'redacted_thinking']);

/** Before the result of a tool that failed: templates have no other place for it. */
const ERROR_PREFIX = 'Error: ';

/** Messages in the form that templates expect; tool results become messages of their own. Throws `REQUEST_INVALID`. */
export function chatMessagesOf({ system, messages }: Conversation): ChatMessage[] {
  const turns: ChatMessage[] = [];
  const instructions = plainText(system ?? '', 'system');
  if (instructions !== '') turns.push({ role: 'system', content: instructions });
  for (const [index, turn] of messages.entries()) {
    const field = `messages.${index}.content`;
    if (typeof turn.content === 'string') turns.push({ role: turn.role, content: turn.content });
    else if (turn.role === 'assistant') turns.push(assistantTurn(turn.content, field));
    else if (turn.role === 'system') turns.push({ role: 'system', content: plainText(turn.content, field) });
    else turns.push(...userTurns(turn.content, field));
  }
  return turns;
}

function assistantTurn(blocks: readonly Block[], field: string): ChatMessage {
  const calls = blocks.filter(({ type }) => type === 'tool_use').map((call) => toolCall(call, field));
  const text = plainText(
    blocks.filter(({ type }) => type !== 'tool_use' && !THOUGHTS.has(type)),
    field,
  );
  const reasoning = blocks
    .filter(({ type }) => THOUGHTS.has(type))
    .map((thought) => reasoningIn(thought, field))
    .filter((thought) => thought !== '')
    .join('\n');
  return {
    role: 'assistant',
    content: text,
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

/**
 * The reasoning of a block. What another server has signed is taken as it is written; what only that server could read is
 * refused, but for redacted thinking, whose data is reported as ignored.
 */
function reasoningIn({ thinking, signature }: Block, field: string): string {
  if (thinking || !signature) return thinking ?? '';
  return unsealReasoning(signature) ?? invalid(`${field}.signature`, 'it was made by another server');
}

function toolCall({ id, name, input }: Block, field: string): ChatToolCall {
  if (typeof name !== 'string') invalid(field, 'a tool_use block has a name');
  const values = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {};
  return { id: String(id), type: 'function', function: { name, arguments: values } };
}

function userTurns(blocks: readonly Block[], field: string): ChatMessage[] {
  const results = blocks.filter(({ type }) => type === 'tool_result');
  const rest = blocks.filter(({ type }) => type !== 'tool_result');
  const turns: ChatMessage[] = results.map((result) => ({
    role: 'tool',
    tool_call_id: String(result.tool_use_id),
    content: resultText(result, field),
  }));
  if (rest.length > 0) turns.push({ role: 'user', content: plainText(rest, field) });
  return turns;
}

function resultText({ content: found, is_error: isError }: Block, field: string): string {
  const said = plainText(found ?? '', field);
  return isError && !/^error\b/i.test(said) ? ERROR_PREFIX + said : said;
}

function plainText(from: string | readonly z.output<typeof textBlock>[], field: string): string {
  if (typeof from === 'string') return from;
  const texts = from.map(({ type, text }, index) =>
    type === 'text' && typeof text === 'string'
      ? text
      : invalid(`${field}.${index}`, 'only text is understood'),
  );
  return texts.join('');
}
