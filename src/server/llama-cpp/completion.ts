import { z } from 'zod';
import type { TextModel } from '../../engine/text-model.ts';
import type { TextEnd } from '../../engine/text-stream.ts';
import type { SampledToken } from '../../runtime/jobs/sampled-token.ts';
import { json, postEndpoint } from '../endpoint.ts';
import type { StreamEvent } from '../event-stream.ts';
import { OTHER_FIELDS } from '../fields/other-fields.ts';
import { adapterField, adaptersOf } from '../generation/adapter-field.ts';
import { constraintFields, constraintOf } from '../generation/constraint-fields.ts';
import { encodedPrompts, promptsField } from '../generation/prompts-field.ts';
import { respondWithEvents } from '../generation/respond.ts';
import { type StartedGeneration, startGeneration, type GenerationTask } from '../generation/run-task.ts';
import {
  generateOptions,
  llamaTokensField,
  logprobsField,
  maxTokensOf,
  modelField,
  samplingFields,
} from '../generation/sampling-fields.ts';
import { telemetryFields, telemetryOf, told } from '../generation/telemetry.ts';
import { timingsOf } from '../generation/timings.ts';
import type { RequestContext } from '../request-context.ts';
import {
  generationSettings,
  responseFieldsField,
  selected,
  textOfPrompt,
} from '../generation/generation-settings.ts';

/** The fields of a completion besides the prompt. */
export const completionFields = {
  model: modelField,
  ...samplingFields,
  ...constraintFields,
  lora: adapterField,
  n_predict: llamaTokensField.describe('Most tokens of the text; -1 sets no limit.'),
  n_probs: logprobsField.describe(
    'Reports log-probabilities with so many of the most likely tokens; 0: none.',
  ),
  post_sampling_probs: z
    .boolean()
    .nullish()
    .describe('Reports probabilities as they are after all samplers, instead of logarithms before any.'),
  ...telemetryFields,
  return_tokens: z.boolean().nullish().describe('Reports the token ids of the text.'),
  response_fields: responseFieldsField,
  stream: z.boolean().nullish().describe('Sends the text as server-sent events while it is generated.'),
};

type CompletionBody = z.output<z.ZodObject<typeof completionFields>>;

/** `POST /completion`, as in llama.cpp's server. */
export const completionEndpoint = postEndpoint({
  path: '/completion',
  summary: 'Continues a text, in the format of llama.cpp’s server.',
  body: z.object({ prompt: promptsField, ...completionFields }),
  others: OTHER_FIELDS,
  handle: (request, call) => {
    const { signal } = call;
    return complete(request, call, (model) => encodedPrompts(model, request, { addSpecial: true, signal }));
  },
});

/** Continues the prompts that `encode` makes for the model. */
export async function complete(
  request: CompletionBody,
  call: RequestContext,
  encode: (model: TextModel) => Promise<readonly (readonly number[])[]>,
): Promise<Response> {
  const prepare = async (model: TextModel) => taskOf(request, model, await encode(model));
  const isStreamed = request.stream === true;
  const generation = await startGeneration(call, request.model ?? undefined, prepare, isStreamed);
  if (request.stream) return respondWithEvents(call, generation, chunks(request, generation));
  const results = generation.task.prompts.map((_, index) => new Result(request, generation, index));
  for await (const event of generation.events) {
    const result = results[event.choice];
    if (event.kind === 'text') result?.take(event.text, event.token);
    if (event.kind === 'end') result?.finish(event.end);
  }
  const answers = results.map((result) => result.whole());
  return json(answers.length === 1 ? answers[0] : answers);
}

function taskOf(
  request: CompletionBody,
  model: TextModel,
  prompts: readonly (readonly number[])[],
): GenerationTask {
  const { n_predict: most, n_probs: probabilities } = request;
  const options = generateOptions(model, request, {
    maxTokens: maxTokensOf({ n_predict: most }),
    logProbabilities: probabilities || -1,
    reportsDrawn: request.post_sampling_probs === true,
    adapters: adaptersOf(model, request),
    continues: true,
  });
  // Unlike in the other APIs, a text without an end has no tokens for ends either: llama.cpp's server forbids them.
  const ends = request.ignore_eos ? [...model.tokenizer.special.endOfGeneration].map((id) => [id]) : [];
  const bannedTokens = [...(options.bannedTokens ?? []), ...ends];
  const held = { ...options, ...constraintOf(request), bannedTokens };
  return { prompts, choices: 1, options: held, telemetry: telemetryOf(request) };
}

/** The result of one prompt while it is generated. */
class Result {
  readonly #request: CompletionBody;
  readonly #generation: StartedGeneration;
  readonly #index: number;
  readonly #tokens: number[] = [];
  readonly #probabilities: object[] = [];
  #text = '';
  #hasNewLine = false;
  #generated = 0;
  #end: TextEnd | undefined;

  constructor(request: CompletionBody, generation: StartedGeneration, index: number) {
    this.#request = request;
    this.#generation = generation;
    this.#index = index;
  }

  take(text: string, token: SampledToken | undefined): void {
    this.#text += text;
    this.#hasNewLine ||= text.includes('\n');
    if (!token) return;
    this.#generated++;
    this.#tokens.push(token.id);
    if (!this.#request.n_probs) return;
    const isDrawn = this.#request.post_sampling_probs === true;
    this.#probabilities.push(probabilitiesOf(this.#generation.model, token, isDrawn));
  }

  finish(end: TextEnd): void {
    this.#end = end;
  }

  /** The text and tokens since the last piece. */
  piece(): object {
    const probabilities = this.#probabilities.splice(0);
    const content = this.#text;
    this.#text = '';
    return {
      index: this.#index,
      content,
      tokens: this.#tokens.splice(0),
      stop: this.#end !== undefined,
      id_slot: this.#slot,
      tokens_predicted: this.#generated,
      tokens_evaluated: this.#generation.task.prompts[this.#index]?.length ?? 0,
      ...(probabilities.length > 0 && { completion_probabilities: probabilities }),
      ...(this.#end && this.#ending(this.#end)),
    };
  }

  whole(): object {
    const piece = this.piece();
    return this.selected(this.#request.return_tokens ? piece : { ...piece, tokens: [] });
  }

  /** The slot of its latest token; before its end, that is known only if the request has chosen it. */
  get #slot(): number {
    const { scheduling } = this.#generation.task.options;
    return this.#end?.slot ?? scheduling?.slot ?? -1;
  }

  /** What the request wants of an answer. */
  selected(answer: object): object {
    return selected(answer, this.#request.response_fields);
  }

  #ending(end: TextEnd): object {
    const word = end.stop ?? '';
    const limit = end.reason === 'length' ? 'limit' : 'eos';
    const { id, model, task } = this.#generation;
    const room = model.context - end.promptTokens - end.generatedTokens;
    // There is less than none where the context was shifted.
    const isFull = room < 0 || (room === 0 && end.reason === 'length');
    return {
      model: id,
      prompt: textOfPrompt(model, task.prompts[this.#index] ?? []),
      generation_settings: generationSettings(model, task.options, this.#request.stream === true),
      has_new_line: this.#hasNewLine,
      stop_type: end.stop === undefined ? limit : 'word',
      stopping_word: word,
      truncated: isFull,
      tokens_cached: end.cachedTokens,
      timings: timingsOf(end),
    };
  }
}

/** A token's probabilities: those that it was drawn by, or the logarithms of those before. */
function probabilitiesOf({ tokenizer }: TextModel, token: SampledToken, isDrawn: boolean): object {
  const entry = (id: number, logprob = Number.NEGATIVE_INFINITY) => {
    const bytes = tokenizer.tokenBytes(id);
    const told = { id, token: new TextDecoder().decode(bytes), bytes: Array.from(bytes) };
    // JSON cannot represent infinity.
    return isDrawn
      ? { ...told, prob: Math.exp(logprob) }
      : { ...told, logprob: Math.max(logprob, -Number.MAX_VALUE) };
  };
  const top = token.alternatives.map((one) => entry(one.id, one.logProbability));
  return { ...entry(token.id, token.logProbability), [isDrawn ? 'top_probs' : 'top_logprobs']: top };
}

async function* chunks(
  request: CompletionBody,
  generation: StartedGeneration,
): AsyncGenerator<StreamEvent, void> {
  const results = generation.task.prompts.map((_, index) => new Result(request, generation, index));
  for await (const event of generation.events) {
    const result = results[event.choice];
    if (event.kind === 'text') result?.take(event.text, event.token);
    if (event.kind === 'end') result?.finish(event.end);
    if (result) yield { data: JSON.stringify({ ...told(event), ...result.selected(result.piece()) }) };
  }
}
