import { z } from 'zod';
import type { GenerateOptions } from '../../engine/generate-options.ts';
import { MAX_LOG_PROBABILITIES, SAMPLING_OPTIONS, type SamplingNumberName } from '../../ops/index.ts';

/** Most stop strings of a request. */
const MAX_STOPS = 16;
/** Longest of them, in characters: each is looked for with every token. */
const LONGEST_STOP = 1024;

/** Most answers to one prompt. */
const MAX_CHOICES = 128;

/** Most token ids of a request that have a bias: each is checked. */
const MAX_BIASES = 10_000;

/** Biases by token id; too many are refused before any is looked at. */
const biases = z.preprocess(
  (given, context) => {
    if (typeof given !== 'object' || given === null || Object.keys(given).length <= MAX_BIASES) return given;
    context.addIssue(`at most ${MAX_BIASES} token ids are taken`);
    return z.NEVER;
  },
  z.record(z.string().regex(/^\d+$/, 'its keys are token ids'), z.number()).nullish(),
);

/** A name as fields of requests have it: `top_k`. */
type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : '';

/** A number of a request that its sender may leave out. */
type NumberField = z.ZodOptional<z.ZodNullable<z.ZodNumber>>;

/** The numbers with their fields' names. */
const NUMBERS = SAMPLING_OPTIONS.map((option) => ({
  ...option,
  field: option.name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
}));

const numberFields = Object.fromEntries(
  NUMBERS.map(({ field, text, isWhole }) => {
    const number: z.ZodNumber = isWhole ? z.int() : z.number();
    return [field, number.nullish().describe(`${text.charAt(0).toUpperCase()}${text.slice(1)}.`)];
  }),
) as Record<Snake<Exclude<SamplingNumberName, 'logProbabilities'>>, NumberField>;

/** How a token is chosen and where a text ends, in the names that OpenAI's API and llama.cpp's server share. */
export const samplingFields = {
  ...numberFields,
  seed: z.int().nullish().describe('Same seed, same text. -1 and nothing choose a fresh one.'),
  logit_bias: biases.optional().describe('Added to the logits of single token ids.'),
  stop: z
    .union([z.string().max(LONGEST_STOP), z.array(z.string().max(LONGEST_STOP)).max(MAX_STOPS)])
    .nullish()
    .describe('Strings that end the text; they are not part of it.'),
  priority: z
    .int()
    .nullish()
    .describe('The lower, the earlier, as in vLLM; for keys that may choose it. Default 0.'),
  ignore_eos: z.boolean().nullish().describe("Goes on after the model's own end."),
};

/** A request's choice of tokens and end. */
export type SamplingBody = z.output<z.ZodObject<typeof samplingFields>>;

/** `n` of OpenAI's APIs. */
export const choicesField = z.int().min(1).max(MAX_CHOICES).nullish().describe('Answers to the same prompt.');

/** `top_logprobs` and its like. */
export const logprobsField = z.int().min(0).max(MAX_LOG_PROBABILITIES).nullish();

/** A limit in tokens. */
export const tokensField = z.int().min(1).nullish();

/** `stream_options` of OpenAI's APIs. */
export const streamFields = {
  stream: z.boolean().nullish().describe('Sends the text as server-sent events while it is generated.'),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
};

/** Which model answers. */
export const modelField = z.string().nullish().describe('A name of /v1/models. Default: the first.');

/** The engine's options for a request's fields; ranges are checked by the engine. */
export function generateOptions(body: SamplingBody, rest: Partial<GenerateOptions> = {}): GenerateOptions {
  const { seed, logit_bias, stop } = body;
  return present({
    ...Object.fromEntries(NUMBERS.map(({ name, field }) => [name, body[field as keyof typeof numberFields]])),
    seed: seed === -1 ? undefined : seed,
    logitBias: logit_bias && new Map(Object.entries(logit_bias).map(([id, bias]) => [Number(id), bias])),
    stop: typeof stop === 'string' ? [stop] : stop,
    ignoreEnd: body.ignore_eos,
    scheduling: typeof body.priority === 'number' ? { priority: body.priority } : undefined,
    ...rest,
  });
}

/** The properties that have a value. */
export function present(of: {
  [K in keyof GenerateOptions]: GenerateOptions[K] | null | undefined;
}): GenerateOptions {
  const entries = Object.entries(of).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(entries) as GenerateOptions;
}
