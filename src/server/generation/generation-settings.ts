import { z } from 'zod';
import type { GenerateOptions } from '../../engine/generate-options.ts';
import type { TextModel } from '../../engine/text-model.ts';
import { SAMPLING_OPTIONS } from '../../ops/index.ts';
import { listOf } from '../fields/list-of.ts';
import { snakeCase } from '../fields/field-names.ts';

/** Maximum number of values that a request selects. */
const MAX_PATHS = 256;

/** `response_fields` of llama.cpp's server. */
export const responseFieldsField = listOf(z.string(), { max: MAX_PATHS })
  .nullish()
  .describe('The values to report, as paths such as generation_settings/seed. Default: all.');

/** The settings of a generation under the names of llama.cpp's server; JSON has null for infinities. */
export function generationSettings(model: TextModel, options: GenerateOptions, isStreamed: boolean): object {
  const numbers = SAMPLING_OPTIONS.map(({ name, standard }) => [snakeCase(name), options[name] ?? standard]);
  const { maxTokens = Number.POSITIVE_INFINITY, logitBias, ignoreEnd = false, minTokens = 0 } = options;
  const ends = ignoreEnd ? [...model.tokenizer.special.endOfGeneration] : [];
  const biases = [...(logitBias ?? []), ...ends.map((id) => [id, Number.NEGATIVE_INFINITY] as const)];
  return {
    ...(Object.fromEntries(numbers) as object),
    seed: options.seed ?? -1,
    n_predict: Number.isFinite(maxTokens) ? maxTokens : -1,
    max_tokens: Number.isFinite(maxTokens) ? maxTokens : -1,
    min_tokens: minTokens,
    stop: options.stop ?? [],
    ignore_eos: ignoreEnd,
    logit_bias: biases.map(([token, bias]) => ({ token, bias })),
    stream: isStreamed,
  };
}

/** A prompt as text, with its control tokens. */
export function textOfPrompt({ tokenizer }: TextModel, prompt: readonly number[]): string {
  return tokenizer.decode(prompt, { special: true, keepLeadingSpace: true });
}

/** The values of an answer that a request selects, under their paths. Unknown paths select nothing. */
export function selected(answer: object, paths: readonly string[] | null | undefined): object {
  if (!paths?.length) return answer;
  const found = paths.map((path) => [path, valueAt(answer, path.split('/'))] as const);
  return Object.fromEntries(found.filter(([, value]) => value !== undefined));
}

function valueAt(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return value;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return valueAt((value as Readonly<Record<string, unknown>>)[name], rest);
}
