import { z } from 'zod';
import type { GenerateOptions } from '../../engine/generate-options.ts';
import type { TextModel } from '../../engine/text-model.ts';
import type { ReasoningOptions } from '../../text/index.ts';
import { invalid } from '../endpoint.ts';
import { harmless, type OtherFields, refused } from '../fields/other-fields.ts';
import { jsonSchema, type TextConstraint } from '../generation/answer-form.ts';
import type { RequestContext } from '../request-context.ts';
import { keepAliveField, keepSecondsOf } from './keep-alive.ts';
import { adaptersOf } from '../generation/adapter-field.ts';
import { generateOptions, logprobsField, samplingFields } from '../generation/sampling-fields.ts';

/** Fields that Ollama's chat and generate share. */
export const ollamaFields = {
  model: z.string().describe('A name of /api/tags.'),
  stream: z
    .boolean()
    .nullish()
    .describe('Sends the answer line by line while it is generated. Default true.'),
  think: z
    .union([z.boolean(), z.string()])
    .nullish()
    .describe('Whether the model reasons before it answers, or how much.'),
  format: z
    .union([z.literal('json'), z.literal(''), jsonSchema])
    .nullish()
    .describe('json, or a JSON schema that the answer satisfies.'),
  keep_alive: keepAliveField,
  logprobs: z.boolean().nullish().describe('Reports log-probabilities of the tokens.'),
  top_logprobs: logprobsField.describe('Reports so many of the most likely tokens with each, too.'),
  options: z
    .object({
      ...samplingFields,
      num_ctx: z
        .int()
        .nullish()
        .describe('The context that the answer needs; refused if the server was started with a smaller one.'),
      num_keep: samplingFields.n_keep.describe('Another name of n_keep.'),
      num_predict: z.int().nullish().describe('Most tokens of the answer; below 0: no limit.'),
    })
    .nullish()
    .describe('How tokens are chosen.'),
};

type SharedBody = Omit<z.output<z.ZodObject<typeof ollamaFields>>, 'model' | 'stream'>;

const AT_START = harmless('it is chosen when the server is started');

/** The fields of Ollama's requests that are not supported. */
export const OLLAMA_FIELDS: OtherFields = {
  context: refused('send the conversation to /api/chat', []),
  images: refused('only text comes in and goes out', []),
  'messages.*.images': refused('only text comes in and goes out', []),
  suffix: refused('send it to /api/generate', ''),
  template: refused('the template is chosen when the server is started: --chat-template', ''),
  'options.low_vram': AT_START,
  'options.main_gpu': AT_START,
  'options.num_batch': AT_START,
  'options.num_gpu': AT_START,
  'options.num_thread': AT_START,
  'options.numa': AT_START,
  'options.penalize_newline': refused('penalties are for all tokens alike', true),
  'options.tfs_z': refused('there is no such sampler', 1),
  'options.use_mlock': AT_START,
  'options.use_mmap': AT_START,
};

/** The server's name for a model; Ollama's clients may append a tag. */
export function modelName(name: string): string {
  return name.replace(/:latest$/, '');
}

/** The constraint on the answer. */
export function ollamaConstraint({ format }: SharedBody): TextConstraint {
  if (!format) return {};
  return format === 'json' ? { json: true } : { schema: format };
}

/** The reasoning options of a request. */
export function ollamaReasoning({ think }: SharedBody): ReasoningOptions {
  if (typeof think === 'string') return { effort: think };
  return typeof think === 'boolean' ? { enabled: think } : {};
}

/** How the answer is generated. */
export function ollamaOptions(
  model: TextModel,
  { model: name, options, logprobs, top_logprobs }: SharedBody & { readonly model: string },
  rest: Partial<GenerateOptions>,
): GenerateOptions {
  const { num_predict: most, num_ctx: context, num_keep, ...given } = options ?? {};
  const sampling = { ...given, n_keep: given.n_keep ?? num_keep };
  if (typeof context === 'number' && context > model.context) {
    invalid('options.num_ctx', `the model was opened with ${model.context} positions: --context`);
  }
  const maxTokens = typeof most === 'number' && most < 0 ? Number.POSITIVE_INFINITY : (most ?? undefined);
  const logProbabilities = logprobs ? (top_logprobs ?? 0) : -1;
  const adapters = adaptersOf(model, { model: modelName(name) });
  return generateOptions(model, sampling, { maxTokens, logProbabilities, adapters, ...rest });
}

/** Loads a model without generating, or unloads it if `keep_alive` is 0; the answer says which. */
export async function loadOrUnload(
  { model, keep_alive }: { readonly model: string } & Pick<SharedBody, 'keep_alive'>,
  { server: { pool }, signal }: RequestContext,
): Promise<object> {
  const id = modelName(model);
  const seconds = keepSecondsOf(keep_alive);
  const head = { model: id, created_at: new Date().toISOString() };
  if (seconds === 0) {
    // One that is in use is unloaded after that.
    pool.keep(id, 0);
    if (pool.statusOf(id).users === 0) await pool.unload(id);
    return { ...head, done: true, done_reason: 'unload' };
  }
  using lease = await pool.acquire(id, signal);
  keepLoaded(lease.id, keep_alive, pool);
  return { ...head, done: true, done_reason: 'load' };
}

/** Applies a request's `keep_alive` to the model that it uses. Throws `REQUEST_INVALID`. */
export function keepLoaded(
  id: string,
  keep_alive: SharedBody['keep_alive'],
  pool: RequestContext['server']['pool'],
): void {
  const seconds = keepSecondsOf(keep_alive);
  if (seconds !== undefined) pool.keep(id, seconds);
}
