import { z } from 'zod';
import { listOf } from '../fields/list-of.ts';
import type { GenerateOptions } from '../../engine/generate-options.ts';
import type { TextModel } from '../../engine/text-model.ts';
import type { SchedulingClass } from '../../scheduler/fair-shares.ts';
import {
  MAX_LOG_PROBABILITIES,
  SAMPLING_OPTIONS,
  type SamplerName,
  samplerNamed,
  SAMPLERS,
  type SamplingOption,
} from '../../ops/index.ts';
import { invalid } from '../endpoint.ts';
import { type Snake, snakeCase } from '../fields/field-names.ts';

/** Maximum stop strings of a request. */
const MAX_STOPS = 16;
/** Maximum length of each, in characters: every token is checked against them. */
const MAX_STOP_LENGTH = 1024;

/** Maximum answers to one prompt. */
export const MAX_CHOICES = 128;

/** Maximum token ids with a bias: each is validated. */
const MAX_BIASES = 10_000;

/** Maximum samplers of a request. */
const MAX_SAMPLERS = 64;

/** No word begins with this: after it, a word is tokenized as in the middle of a text. */
const BEFORE_WORD = '\n';

/** Maximum banned words: every token is checked against them. */
const MAX_WORDS = 64;

const tokenIds = (min = 0) => listOf(z.int().min(0), { min, max: MAX_BIASES });

/** Maximum texts with a bias and the length of each, in characters: all are tokenized in one run. */
const MAX_BIASED_TEXTS = 256;
const MAX_BIASED_LENGTH = 128;

/** A bias; false forbids, as in llama.cpp's server. */
const bias = z.union([z.number(), z.literal(false)]);

/** Biases by token id or text, as an object or as a list of pairs; too many are refused before any is validated. */
const biases = z.preprocess(
  (given, context) => {
    if (typeof given !== 'object' || given === null || Object.keys(given).length <= MAX_BIASES) return given;
    context.addIssue(`at most ${MAX_BIASES} token ids are taken`);
    return z.NEVER;
  },
  z
    .union([
      z.record(z.string().max(MAX_BIASED_LENGTH), bias),
      listOf(z.tuple([z.union([z.int().min(0), z.string().max(MAX_BIASED_LENGTH)]), bias])),
    ])
    .nullish(),
);

/** An optional number of a request. */
type NumberField = z.ZodOptional<z.ZodNullable<z.ZodNumber>>;

/** The numeric options by their field names. */
const NUMBERS = SAMPLING_OPTIONS.map((option) => ({
  ...option,
  field: snakeCase(option.name),
}));

const NUMBER_NAMES: ReadonlyMap<string, SamplingOption['name']> = new Map(
  NUMBERS.map(({ field, name }) => [field, name]),
);

const numberFields = Object.fromEntries(
  NUMBERS.map(({ field, text, isWhole, rule }) => {
    const plain: z.ZodNumber = isWhole ? z.int() : z.number();
    const number = plain.refine((value) => rule.allows(value), `expected ${rule.expected}`);
    return [field, number.nullish().describe(`${text.charAt(0).toUpperCase()}${text.slice(1)}.`)];
  }),
) as Record<Snake<SamplingOption['name']>, NumberField>;

const stopString = z.string().min(1, 'an empty stop string ends no text: leave it out').max(MAX_STOP_LENGTH);

/** Sampling and stopping fields, by the names that OpenAI's API and llama.cpp's server share. */
export const samplingFields = {
  ...numberFields,
  seed: z.int().nullish().describe('Same seed, same text. -1 and nothing choose a fresh one.'),
  logit_bias: biases
    .optional()
    .describe(
      'Added to the logits of token ids, and of all tokens of texts, as an object or a list of pairs; false forbids.',
    ),
  stop: z
    .union([stopString, listOf(stopString, { max: MAX_STOPS })])
    .nullish()
    .describe('Strings that end the text; they are not part of it.'),
  priority: z
    .int()
    .nullish()
    .describe('The lower, the earlier, as in vLLM; for keys that may choose it. Default 0.'),
  id_slot: z
    .int()
    .min(-1)
    .nullish()
    .describe(
      'The slot to run in, for which the request waits. Default -1: the one that holds most of the prompt.',
    ),
  cache_salt: z
    .string()
    .min(1)
    .max(MAX_STOP_LENGTH)
    .nullish()
    .describe('Only requests with the same salt share the cache of a common prefix, as in vLLM.'),
  ignore_eos: z.boolean().nullish().describe("Goes on after the model's own end."),
  repetition_penalty: numberFields.repeat_penalty.describe("vLLM's name of repeat_penalty."),
  repeat_last_n: numberFields.penalty_window.describe("llama.cpp's name of penalty_window."),
  min_tokens: z.int().min(0).nullish().describe('Tokens before which the text does not end.'),
  stop_token_ids: tokenIds().nullish().describe('Token ids that end the text; they are not part of it.'),
  include_stop_str_in_output: z
    .boolean()
    .nullish()
    .describe('The stop string that ends the text is part of it.'),
  allowed_token_ids: tokenIds(1).nullish().describe('The only token ids that the text may be of.'),
  bad_words: listOf(z.string().min(1).max(MAX_STOP_LENGTH), { max: MAX_WORDS })
    .nullish()
    .describe('Words that the text must not have, at the beginning of a word or within one.'),
  samplers: z
    .union([listOf(z.string(), { max: MAX_SAMPLERS }), z.string().max(MAX_SAMPLERS)])
    .nullish()
    .describe('The samplers in order, by name, or as a word of llama.cpp’s letters; others are off.'),
  dry_sequence_breakers: listOf(z.string(), { min: 1, max: MAX_STOPS })
    .nullish()
    .describe('Texts that interrupt a repetition, for DRY. Default: a line break, :, " and *.'),
  n_keep: z
    .int()
    .min(-1)
    .nullish()
    .describe(
      'Tokens of the prompt that stay when a full context is shifted (--context-shift); -1: all. At most half of it.',
    ),
  skip_special_tokens: z.boolean().nullish().describe('Leaves out control tokens. Default true.'),
  truncate_prompt_tokens: z
    .int()
    .min(-1)
    .refine((count) => count !== 0, 'expected at least one token, or -1')
    .nullish()
    .describe('Takes so many tokens of the end of the prompt; -1: as many as leave room for an answer.'),
};

/** A request's sampling and stopping fields. */
export type SamplingBody = z.output<z.ZodObject<typeof samplingFields>>;

/** `n` of OpenAI's APIs. */
export const choicesField = z.int().min(1).max(MAX_CHOICES).nullish().describe('Answers to the same prompt.');

/** `top_logprobs` and similar. */
export const logprobsField = z.int().min(0).max(MAX_LOG_PROBABILITIES).nullish();

/** `logprob_token_ids` of vLLM. */
export const namedTokensField = tokenIds()
  .nullish()
  .describe('Reports the log-probabilities of these ids instead of the most likely ones, with logprobs.');

/** A limit in tokens. */
export const tokensField = z.int().min(1).nullish();

/** llama.cpp's name for it; -1 means no limit. */
export const llamaTokensField = z.int().min(-1).nullish().describe("llama.cpp's name of max_tokens.");

/** The token limit of a request, under either API's name; the first that is present counts. */
export function maxTokensOf(of: {
  readonly max_completion_tokens?: number | null | undefined;
  readonly max_tokens?: number | null | undefined;
  readonly n_predict?: number | null | undefined;
}): number | undefined {
  const most = of.max_completion_tokens ?? of.max_tokens ?? of.n_predict ?? undefined;
  return most === -1 ? Number.POSITIVE_INFINITY : most;
}

/** `stream_options` of OpenAI's APIs. */
export const streamFields = {
  stream: z.boolean().nullish().describe('Sends the text as server-sent events while it is generated.'),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
};

/** The model that answers. */
export const modelField = z.string().nullish().describe('A name of /v1/models. Default: the first.');

/** The engine's options for a request's fields; the engine validates their ranges. */
export function generateOptions(
  model: TextModel,
  body: SamplingBody,
  rest: Partial<GenerateOptions> = {},
): GenerateOptions {
  const { seed, logit_bias, stop, bad_words: words } = body;
  const { repeat_penalty, repetition_penalty, penalty_window, repeat_last_n } = body;
  const fields = {
    repeatPenalty: eitherOf({ repeat_penalty, repetition_penalty }),
    penaltyWindow: eitherOf({ penalty_window, repeat_last_n }),
    seed: seed === -1 ? undefined : seed,
    logitBias: logit_bias && biasesOf(model, logit_bias),
    stop: typeof stop === 'string' ? [stop] : stop,
    ignoreEnd: body.ignore_eos,
    minTokens: body.min_tokens,
    stopTokens: body.stop_token_ids,
    includeStop: body.include_stop_str_in_output,
    allowedTokens: body.allowed_token_ids,
    bannedTokens: words?.flatMap((word) => spellingsOf(model, word)),
    special: body.skip_special_tokens === false ? true : undefined,
    scheduling: schedulingOf(body),
    shift: shiftOf(body),
    cacheSalt: body.cache_salt,
    samplers: samplersOf(body.samplers),
    drySequenceBreakers: body.dry_sequence_breakers,
  };
  return present(numbersOf(body), fields, rest);
}

function numbersOf(body: SamplingBody): { [K in SamplingOption['name']]?: number } {
  const numbers: { [K in SamplingOption['name']]?: number } = {};
  // Bodies have few of them.
  for (const field of Object.keys(body)) {
    const name = NUMBER_NAMES.get(field);
    const value = body[field as keyof typeof numberFields];
    if (name !== undefined && value !== null && value !== undefined) numbers[name] = value;
  }
  return numbers;
}

/**
 * The biases by token id; several of one token add up. A key of digits is an id, any other text stands for each of its
 * tokens. Throws `REQUEST_INVALID` for too many texts.
 */
function biasesOf(
  { tokenizer }: TextModel,
  given: NonNullable<SamplingBody['logit_bias']>,
): Map<number, number> {
  const sums = new Map<number, number>();
  let texts = 0;
  for (const [key, value] of Array.isArray(given) ? given : Object.entries(given)) {
    const isId = typeof key === 'number' || /^\d+$/.test(key);
    if (!isId && ++texts > MAX_BIASED_TEXTS)
      invalid('logit_bias', `at most ${MAX_BIASED_TEXTS} texts are taken`);
    const ids = isId ? [Number(key)] : tokenizer.encode(key, { addSpecial: false });
    if (ids.length === 0) invalid('logit_bias', 'an empty text has no tokens');
    const added = value === false ? Number.NEGATIVE_INFINITY : value;
    for (const id of ids) sums.set(id, (sums.get(id) ?? 0) + added);
  }
  return sums;
}

function shiftOf({ n_keep: keep }: SamplingBody): GenerateOptions['shift'] {
  if (keep === null || keep === undefined) return undefined;
  return { keep: keep < 0 ? Number.POSITIVE_INFINITY : keep };
}

function schedulingOf({ priority, id_slot: slot }: SamplingBody): SchedulingClass {
  return {
    ...(typeof priority === 'number' && { priority }),
    ...(typeof slot === 'number' && slot >= 0 && { slot }),
  };
}

/** The value of a field that has two names. Throws `REQUEST_INVALID` if they differ. */
function eitherOf<T>(named: Readonly<Record<string, T | null | undefined>>): T | undefined {
  const [one, other] = Object.entries(named).filter(([, value]) => value !== null && value !== undefined);
  if (one && other && one[1] !== other[1]) invalid(other[0], `${one[0]} says otherwise`);
  return one?.[1] ?? undefined;
}

/** The samplers that a request names. Throws `REQUEST_INVALID`. */
function samplersOf(given: SamplingBody['samplers']): SamplerName[] | undefined {
  if (given === null || given === undefined) return undefined;
  return [...given].map((name) => {
    const known = samplerNamed(name);
    return known ?? invalid('samplers', `there is no sampler ${name}; there are ${SAMPLERS.join(', ')}`);
  });
}

/** The token ids of a word at the start of a text, after a space, and after something else. */
function spellingsOf({ tokenizer }: TextModel, word: string): number[][] {
  const plain = { addSpecial: false };
  const before = tokenizer.encode(BEFORE_WORD, plain);
  const within = tokenizer.encode(BEFORE_WORD + word, plain);
  const isApart = before.every((id, at) => within[at] === id);
  const spellings = [tokenizer.encode(word, plain), tokenizer.encode(` ${word}`, plain)];
  return [...spellings, ...(isApart ? [within.slice(before.length)] : [])].filter(({ length }) => length > 0);
}

/** The part of a prompt that `truncate_prompt_tokens` keeps. */
export function truncatedPrompt(
  model: TextModel,
  body: SamplingBody,
  prompt: readonly number[],
): readonly number[] {
  const { truncate_prompt_tokens: most } = body;
  if (most === null || most === undefined) return prompt;
  return prompt.slice(-(most < 0 ? model.context - 1 : most));
}

/** Options with or without a value. */
type Fields = { [K in keyof GenerateOptions]: GenerateOptions[K] | null | undefined };

/** The properties that have a value, of several the last; spreading them costs more than all else of a request's options. */
function present(...of: readonly Fields[]): GenerateOptions {
  const options: Record<string, unknown> = {};
  for (const fields of of) {
    for (const name of Object.keys(fields)) {
      const value = fields[name as keyof Fields];
      if (value !== undefined && value !== null) options[name] = value;
    }
  }
  return options;
}
