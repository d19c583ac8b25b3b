import { z } from 'zod';
import type { GenerateOptions } from '../../engine/generate-options.ts';
import type { TextModel } from '../../engine/text-model.ts';
import type { ReasoningOptions } from '../../text/index.ts';
import type { OtherFields } from '../fields/other-fields.ts';
import { jsonSchema, type TextConstraint } from '../generation/answer-form.ts';
import { generateOptions, samplingFields } from '../generation/sampling-fields.ts';

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
  options: z
    .object({
      ...samplingFields,
      num_predict: z.int().nullish().describe('Most tokens of the answer; below 0: no limit.'),
    })
    .nullish()
    .describe('How tokens are chosen.'),
};

type SharedBody = Pick<z.output<z.ZodObject<typeof ollamaFields>>, 'think' | 'format' | 'options'>;

const unused = (why: string) => ({ verdict: 'harmless', why, neutral: [] }) as const;
const refused = (why: string, ...neutral: unknown[]) => ({ verdict: 'refused', why, neutral }) as const;
const AT_START = unused('it is chosen when the server is started');

/** The fields of Ollama's requests that are not supported. */
export const OLLAMA_FIELDS: OtherFields = {
  context: refused('send the conversation to /api/chat', []),
  images: refused('only text comes in and goes out', []),
  keep_alive: unused('a model stays loaded until another one needs the room'),
  logprobs: refused('log-probabilities are told by /v1/chat/completions', false),
  'messages.*.images': refused('only text comes in and goes out', []),
  suffix: refused('filling in the middle is not supported', ''),
  template: refused('the template is chosen when the server is started: --chat-template', ''),
  top_logprobs: refused('log-probabilities are told by /v1/chat/completions', 0),
  'options.low_vram': AT_START,
  'options.main_gpu': AT_START,
  'options.mirostat': refused('there is no such sampler', 0),
  'options.mirostat_eta': unused('it says only how something is done that is refused where it is asked for'),
  'options.mirostat_tau': unused('it says only how something is done that is refused where it is asked for'),
  'options.num_batch': AT_START,
  'options.num_ctx': AT_START,
  'options.num_gpu': AT_START,
  'options.num_keep': unused('a full context ends the text'),
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
  { options }: SharedBody,
  rest: Partial<GenerateOptions>,
): GenerateOptions {
  const { num_predict: most, ...sampling } = options ?? {};
  const maxTokens = typeof most === 'number' && most >= 0 ? most : Number.POSITIVE_INFINITY;
  return generateOptions(model, sampling, { maxTokens, ...rest });
}
