import { z } from 'zod';
import type { ScoredId, ScoreOptions } from '../../engine/score.ts';
import type { TextModel } from '../../engine/text-model.ts';
import type { SampledToken } from '../../runtime/jobs/sampled-token.ts';
import type { TextEnd } from '../../engine/text-stream.ts';
import type { RequestContext } from '../request-context.ts';
import { invalid, json, postEndpoint } from '../endpoint.ts';
import type { StreamEvent } from '../event-stream.ts';
import { OTHER_FIELDS } from '../fields/other-fields.ts';
import { adapterField, adaptersOf } from '../generation/adapter-field.ts';
import { encodedPrompts, promptsField } from '../generation/prompts-field.ts';
import { respondWithEvents } from '../generation/respond.ts';
import { type StartedGeneration, startGeneration, type GenerationTask } from '../generation/run-task.ts';
import {
  choicesField,
  generateOptions,
  logprobsField,
  namedTokensField,
  llamaTokensField,
  MAX_CHOICES,
  modelField,
  maxTokensOf,
  samplingFields,
  streamFields,
} from '../generation/sampling-fields.ts';
import { telemetryFields, telemetryOf, told } from '../generation/telemetry.ts';
import { constraintFields } from '../generation/constraint-fields.ts';
import { responseFormat, textConstraintOf } from './response-format.ts';
import { FINISH_REASONS } from './chat-answer.ts';
import { DONE, fingerprintOf, type ResponseHead } from './chat-chunks.ts';
import { completionLogprobs, contentLogprob, type PlacedLogprob, promptLogprob } from './logprobs.ts';
import { freshId, nowSeconds } from '../fresh-id.ts';
import { usageOf } from './usage.ts';

/** OpenAI's default length of completions, in tokens. */
const DEFAULT_MAX_TOKENS = 16;

const body = z.object({
  model: modelField,
  prompt: promptsField,
  ...samplingFields,
  ...streamFields,
  lora: adapterField,
  n: choicesField,
  max_tokens: z.int().min(0).nullish().describe('Most tokens of the text; 0 generates nothing.'),
  n_predict: llamaTokensField,
  ...telemetryFields,
  logprobs: logprobsField,
  logprob_token_ids: namedTokensField,
  best_of: choicesField.describe('Generates so many texts, and answers with the n most likely.'),
  prompt_logprobs: logprobsField.describe(
    'Log-probabilities of the prompt, with so many alternatives, as in vLLM.',
  ),
  add_special_tokens: z
    .boolean()
    .nullish()
    .describe('Adds what the model wants around a text. Default true.'),
  suffix: z
    .string()
    .nullish()
    .describe('What follows the text, which is filled in by the model’s tokens for that.'),
  echo: z.boolean().nullish().describe('Begins the answer with the prompt.'),
  response_format: responseFormat.nullish(),
  ...constraintFields,
});

type CompletionBody = z.output<typeof body>;

/** `POST /v1/completions`, according to OpenAI's API reference. */
export const completionsEndpoint = postEndpoint({
  path: '/v1/completions',
  summary: 'Continues a text.',
  body,
  others: OTHER_FIELDS,
  handle: complete,
});

async function complete(request: CompletionBody, call: RequestContext): Promise<Response> {
  const generated = generatedOf(request);
  if (request.stream && generated > (request.n ?? 1)) {
    invalid('best_of', 'the best are known when all texts have ended: they are not streamed');
  }
  if (request.suffix && request.echo) invalid('echo', 'a text that is filled in is not echoed');
  const prepare = (model: TextModel) => taskOf(request, model, call);
  const isStreamed = request.stream === true;
  const generation = await startGeneration(call, request.model ?? undefined, prepare, isStreamed);
  const head = {
    id: freshId('cmpl-'),
    created: nowSeconds(),
    model: generation.id,
    ...fingerprintOf(call),
    object: 'text_completion',
  };
  if (request.stream) return respondWithEvents(call, generation, chunks(request, generation, head));
  const choices: CompletionChoice[] = [];
  for await (const event of generation.events) {
    const choice = (choices[event.choice] ??= new CompletionChoice(request, generation, event.choice));
    if (event.kind === 'text') choice.take(event.text, event.token);
    if (event.kind === 'end') choice.end = event.end;
  }
  const ends = choices.map(({ end }) => end).filter((end) => end !== undefined);
  const best = bestOf(choices, generated, request.n ?? 1);
  const answers = best.map((choice, index) => ({ index, ...choice.piece(), ...choice.promptScores() }));
  return json({ ...head, choices: answers, usage: usageOf(generation.promptTokens, ends) });
}

async function taskOf(
  request: CompletionBody,
  model: TextModel,
  { signal, server: { defaultMaxTokens } }: RequestContext,
): Promise<GenerationTask> {
  const { add_special_tokens: addSpecial } = request;
  const count = generatedOf(request);
  const prompts = await encodedPrompts(model, request, { addSpecial: addSpecial !== false, signal });
  if (prompts.length * count > MAX_CHOICES)
    invalid(request.best_of ? 'best_of' : 'n', `at most ${MAX_CHOICES} texts are generated at once`);
  const maxTokens = maxTokensOf(request) ?? defaultMaxTokens ?? DEFAULT_MAX_TOKENS;
  const logProbabilities = request.logprobs ?? (count > (request.n ?? 1) ? 0 : -1);
  const namedTokens = (typeof request.logprobs === 'number' && request.logprob_token_ids) || undefined;
  const adapters = adaptersOf(model, request);
  const options = generateOptions(model, request, {
    maxTokens,
    logProbabilities,
    namedTokens,
    adapters,
    continues: true,
  });
  const scores = await scoresOf(request, prompts, { model, adapters, signal });
  return {
    prompts,
    ...(scores && { scores }),
    options: { ...options, ...textConstraintOf(request) },
    choices: count,
    telemetry: telemetryOf(request),
  };
}

/** The number of texts that are generated for each prompt. Throws `REQUEST_INVALID`. */
function generatedOf({ n, best_of }: CompletionBody): number {
  const wanted = n ?? 1;
  if (typeof best_of === 'number' && best_of < wanted) invalid('best_of', 'it is less than n');
  return best_of ?? wanted;
}

/** Of the texts of each prompt the `wanted` ones whose tokens are the most likely on average, best first. */
function bestOf(choices: readonly CompletionChoice[], generated: number, wanted: number): CompletionChoice[] {
  if (generated === wanted) return [...choices];
  return Array.from({ length: choices.length / generated }, (_, prompt) =>
    choices
      .slice(prompt * generated, (prompt + 1) * generated)
      .sort((a, b) => b.meanLogprob - a.meanLogprob)
      .slice(0, wanted),
  ).flat();
}

/** The scores of prompts that a request asks for. */
async function scoresOf(
  { echo, logprobs, prompt_logprobs: wanted }: CompletionBody,
  prompts: readonly (readonly number[])[],
  { model, ...how }: { model: TextModel } & ScoreOptions,
): Promise<ScoredId[][] | undefined> {
  const echoed = echo ? logprobs : undefined;
  if (typeof echoed !== 'number' && typeof wanted !== 'number') return undefined;
  const alternatives = Math.max(echoed ?? 0, wanted ?? 0);
  const scores: ScoredId[][] = [];
  for (const prompt of prompts) scores.push(await model.score(prompt, { alternatives, ...how }));
  return scores;
}

/** A choice under construction. */
class CompletionChoice {
  readonly #generation: StartedGeneration;
  readonly #request: CompletionBody;
  readonly #withLogprobs: boolean;
  readonly #content: PlacedLogprob[] = [];
  /** Its prompt, by its place in the request. */
  readonly #at: number;
  #text = '';
  #offset = 0;
  #logprobs = 0;
  #tokens = 0;
  end: TextEnd | undefined;

  constructor(request: CompletionBody, generation: StartedGeneration, choice: number) {
    this.#generation = generation;
    this.#request = request;
    this.#withLogprobs = typeof request.logprobs === 'number';
    this.#at = Math.floor(choice / generation.task.choices);
    if (!request.echo) return;
    const { prompts, scores } = generation.task;
    const { tokenizer } = generation.model;
    const prompt = prompts[this.#at] ?? [];
    this.#text = tokenizer.decode(prompt);
    if (!this.#withLogprobs) {
      this.#offset = this.#text.length;
      return;
    }
    for (const [at, id] of prompt.entries()) {
      const score = scores?.[this.#at]?.[at - 1];
      if (score) this.#add(fewer(score, request.logprobs ?? 0));
      else this.#add({ id, logProbability: undefined, alternatives: [] }, null);
    }
    // The space that marks a text's start is no part of it.
    this.#offset = this.#text.length - this.#content.reduce((sum, { length }) => sum + length, 0);
  }

  #add(token: SampledToken, logprob?: null): void {
    const { tokenizer } = this.#generation.model;
    const report = contentLogprob(tokenizer, token);
    const isShown = this.#request.skip_special_tokens === false || !tokenizer.isControl(token.id);
    const length = isShown ? report.token.length : 0;
    this.#content.push({ ...report, ...(logprob === null && { logprob }), length });
  }

  /** `prompt_logprobs` of vLLM: nothing for the first id, then each id and its alternatives by their ids. */
  promptScores(): object {
    const { prompt_logprobs: most } = this.#request;
    if (typeof most !== 'number') return {};
    const { tokenizer } = this.#generation.model;
    const scores = this.#generation.task.scores?.[this.#at] ?? [];
    return {
      prompt_logprobs: [null, ...scores.map((score) => promptLogprob(tokenizer, fewer(score, most)))],
    };
  }

  /** The mean log-probability of its tokens. */
  get meanLogprob(): number {
    return this.#logprobs / Math.max(1, this.#tokens);
  }

  take(text: string, token: Parameters<typeof contentLogprob>[1] | undefined): void {
    this.#text += text;
    if (token) {
      this.#tokens++;
      this.#logprobs += token.logProbability ?? 0;
    }
    if (token && this.#withLogprobs) this.#add(token);
  }

  /** Everything since the last piece, including the prompt if it is echoed. */
  piece(): { text: string; logprobs: object | null; finish_reason: string | null } {
    const text = this.#text;
    const content = this.#content.splice(0);
    const logprobs = this.#withLogprobs ? completionLogprobs(content, this.#offset) : null;
    this.#text = '';
    this.#offset += content.reduce((sum, { length }) => sum + length, 0);
    return { text, logprobs, finish_reason: this.end ? FINISH_REASONS[this.end.reason] : null };
  }
}

/** A score with so many alternatives at most. */
function fewer(score: ScoredId, most: number): ScoredId {
  return { ...score, alternatives: score.alternatives.slice(0, most) };
}

async function* chunks(
  request: CompletionBody,
  generation: StartedGeneration,
  head: ResponseHead & { object: string },
): AsyncGenerator<StreamEvent, void> {
  const withUsage = request.stream_options?.include_usage === true;
  const base = { ...head, ...(withUsage ? { usage: null } : {}) };
  const choices = Array.from(
    { length: generation.task.prompts.length * generation.task.choices },
    (_, choice) => new CompletionChoice(request, generation, choice),
  );
  for await (const event of generation.events) {
    const choice = choices[event.choice] as CompletionChoice;
    if (event.kind === 'text') choice.take(event.text, event.token);
    if (event.kind === 'end') choice.end = event.end;
    const piece = choice.piece();
    const isEmpty = piece.text === '' && piece.finish_reason === null && !piece.logprobs;
    if (isEmpty && event.kind !== 'prompt') continue;
    yield { data: JSON.stringify({ ...base, choices: [{ index: event.choice, ...piece }], ...told(event) }) };
  }
  if (withUsage) {
    const ends = choices.map(({ end }) => end).filter((end) => end !== undefined);
    const usage = usageOf(generation.promptTokens, ends);
    yield { data: JSON.stringify({ ...base, choices: [], usage }) };
  }
  yield DONE;
}
