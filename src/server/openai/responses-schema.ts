import { z } from 'zod';
import { listOf } from '../fields/list-of.ts';
import { constraintFields, constraintOf } from '../generation/constraint-fields.ts';
import { reasoningFields } from '../generation/reasoning-fields.ts';
import { telemetryFields } from '../generation/telemetry.ts';
import { adapterField } from '../generation/adapter-field.ts';
import { jsonSchema, type TextConstraint, toolName, type ToolUse } from '../generation/answer-form.ts';
import { logprobsField, modelField, samplingFields, tokensField } from '../generation/sampling-fields.ts';
import { chatTools } from './chat-messages.ts';
import { inputItem } from './response-items.ts';

const textFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({ type: z.literal('json_schema'), schema: jsonSchema }),
]);

const tool = z.object({
  type: z.literal('function', 'only functions are supported'),
  name: toolName,
  description: z.string().nullish(),
  parameters: jsonSchema.nullish(),
  strict: z.boolean().nullish(),
});

/** What a response may contain beside its text; only the first two exist here. */
const includable = z.enum([
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
  'code_interpreter_call.outputs',
  'computer_call_output.output.image_url',
  'file_search_call.results',
  'message.input_image.image_url',
  'web_search_call.action.sources',
  'web_search_call.results',
]);

/** `include` of requests and of queries, which may have one value. */
export const includeField = z.union([listOf(includable), includable.transform((one) => [one])]).nullish();

/** `metadata` of what can be stored. */
export const metadataField = z
  .record(z.string(), z.unknown())
  .refine(
    (given) => Object.values(given).every((value) => typeof value === 'string'),
    'its values are strings',
  )
  .nullish()
  .describe('It comes back with what is stored.');

/** The body of a responses request, according to OpenAI's API reference. */
export const responsesBody = z.object({
  model: modelField,
  input: z.union([z.string(), listOf(inputItem, { min: 1 })]),
  instructions: z.string().nullish(),
  max_output_tokens: tokensField,
  ...samplingFields,
  ...constraintFields,
  ...reasoningFields,
  top_logprobs: logprobsField,
  lora: adapterField,
  stream: z.boolean().nullish(),
  ...telemetryFields,
  text: z.object({ format: textFormat.nullish() }).nullish(),
  tools: listOf(tool, { max: 128 }).nullish(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.object({ type: z.literal('function'), name: z.string() }),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  include: includeField,
  store: z.boolean().nullish().describe('Whether the response can be requested again. Default true.'),
  previous_response_id: z
    .string()
    .nullish()
    .describe('A stored response, whose conversation this one continues.'),
  conversation: z
    .union([z.string(), z.object({ id: z.string() })])
    .nullish()
    .describe('A stored conversation, which this response continues and is added to.'),
  background: z
    .boolean()
    .nullish()
    .describe('Returns immediately; the response is requested by its id until it has ended.'),
  truncation: z
    .enum(['auto', 'disabled'])
    .nullish()
    .describe(
      'auto: the oldest items are left out if the context is too small for all. Default: refused then.',
    ),
  reasoning: z.object({ effort: z.string().nullish() }).nullish(),
  metadata: metadataField,
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
