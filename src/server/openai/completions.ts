import { z } from 'zod';
import type { TextModel } from '../../engine/text-model.ts';
import type { TextEnd } from '../../engine/text-stream.ts';
import type { RequestContext } from '../request-context.ts';
import { json, postEndpoint } from '../endpoint.ts';
import type { StreamEvent } from '../event-stream.ts';
import { OTHER_FIELDS } from '../fields/other-fields.ts';
import { adapterField, adaptersOf } from '../generation/adapter-field.ts';
import { requireTextFits } from '../generation/prompt-bounds.ts';
import { respondWithEvents } from '../generation/respond.ts';
import { type Begun, begin, type GenerationTask } from '../generation/run-task.ts';
import {
  choicesField,
  generateOptions,
  logprobsField,
  llamaTokensField,
  modelField,
  mostTokens,
  promptEnd,
  samplingFields,
  streamFields,
  tokensField,
} from '../generation/sampling-fields.ts';
import { holdFields } from '../generation/hold-fields.ts';
import { responseFormat, textHoldOf } from './response-format.ts';
import { FINISH_REASONS } from './chat-answer.ts';
import { DONE, type ResponseHead } from './chat-chunks.ts';
import { completionLogprobs, type ContentLogprob, contentLogprob } from './logprobs.ts';
import { freshId, nowSeconds } from '../fresh-id.ts';
import { usageOf } from './usage.ts';

/** OpenAI's default length of completions, in tokens. */
const DEFAULT_MAX_TOKENS = 16;

const body = z.object({
  model: modelField,
  prompt: z
    .union([
      z.string(),
      z.array(z.int()).min(1),
      z.array(z.string()).length(1),
      z.array(z.array(z.int()).min(1)).length(1),
    ])
    .describe('A text, or token ids; either may be the only one of a list.'),
  ...samplingFields,
  ...streamFields,
  lora: adapterField,
  n: choicesField,
  max_tokens: tokensField,
  n_predict: llamaTokensField,
  logprobs: logprobsField,
  echo: z.boolean().nullish().describe('Begins the answer with the prompt.'),
  response_format: responseFormat.nullish(),
  ...holdFields,
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
  const begun = await begin(call, request.model ?? undefined, (model) => taskOf(request, model, call.signal));
  const head = { id: freshId('cmpl-'), created: nowSeconds(), model: begun.id, object: 'text_completion' };
  if (request.stream) return respondWithEvents(call, begun, chunks(request, begun, head));
  const choices: CompletionChoice[] = [];
  for await (const event of begun.events) {
    const choice = (choices[event.choice] ??= new CompletionChoice(request, begun));
    if (event.kind === 'text') choice.take(event.text, event.token);
    if (event.kind === 'end') choice.end = event.end;
  }
  const ends = choices.map(({ end }) => end).filter((end) => end !== undefined);
  const answers = choices.map((choice, index) => ({ index, ...choice.piece() }));
  return json({ ...head, choices: answers, usage: usageOf(begun.promptTokens, ends) });
}

async function taskOf(
  request: CompletionBody,
  model: TextModel,
  signal: AbortSignal,
): Promise<GenerationTask> {
  const { prompt: given, n } = request;
  const prompt = typeof given === 'string' || isIds(given) ? given : (given[0] as string | number[]);
  if (typeof prompt === 'string') requireTextFits(model, prompt);
  const ids = typeof prompt === 'string' ? await model.tokenizer.encodeInTurns(prompt, { signal }) : prompt;
  const maxTokens = mostTokens(request) ?? DEFAULT_MAX_TOKENS;
  const logProbabilities = request.logprobs ?? -1;
  const adapters = adaptersOf(model, request.lora);
  const options = generateOptions(model, request, { maxTokens, logProbabilities, adapters, continues: true });
  return {
    prompt: promptEnd(model, request, ids),
    options: { ...options, ...textHoldOf(request) },
    choices: n ?? 1,
  };
}

function isIds(list: string[] | number[] | number[][]): list is number[] {
  return typeof list[0] === 'number';
}

/** A choice under construction. */
class CompletionChoice {
  readonly #begun: Begun;
  readonly #withLogprobs: boolean;
  readonly #content: ContentLogprob[] = [];
  #text = '';
  #offset = 0;
  end: TextEnd | undefined;

  constructor(request: CompletionBody, begun: Begun) {
    this.#begun = begun;
    this.#withLogprobs = typeof request.logprobs === 'number';
    if (request.echo) this.#text = begun.model.tokenizer.decode(begun.prompt);
    this.#offset = this.#text.length;
  }

  take(text: string, token: Parameters<typeof contentLogprob>[1] | undefined): void {
    this.#text += text;
    if (token && this.#withLogprobs) this.#content.push(contentLogprob(this.#begun.model.tokenizer, token));
  }

  /** Everything since the last piece, including the prompt if it is echoed. */
  piece(): { text: string; logprobs: object | null; finish_reason: string | null } {
    const text = this.#text;
    const content = this.#content.splice(0);
    const logprobs = this.#withLogprobs ? completionLogprobs(content, this.#offset) : null;
    this.#text = '';
    this.#offset += content.reduce((sum, { token }) => sum + token.length, 0);
    return { text, logprobs, finish_reason: this.end ? FINISH_REASONS[this.end.reason] : null };
  }
}

async function* chunks(
  request: CompletionBody,
  begun: Begun,
  head: ResponseHead & { object: string },
): AsyncGenerator<StreamEvent, void> {
  const withUsage = request.stream_options?.include_usage === true;
  const base = { ...head, ...(withUsage ? { usage: null } : {}) };
  const choices = Array.from({ length: request.n ?? 1 }, () => new CompletionChoice(request, begun));
  for await (const event of begun.events) {
    const choice = choices[event.choice] as CompletionChoice;
    if (event.kind === 'text') choice.take(event.text, event.token);
    if (event.kind === 'end') choice.end = event.end;
    const piece = choice.piece();
    if (piece.text === '' && piece.finish_reason === null && !piece.logprobs) continue;
    yield { data: JSON.stringify({ ...base, choices: [{ index: event.choice, ...piece }] }) };
  }
  if (withUsage) {
    const ends = choices.map(({ end }) => end).filter((end) => end !== undefined);
    const usage = usageOf(begun.promptTokens, ends);
    yield { data: JSON.stringify({ ...base, choices: [], usage }) };
  }
  yield DONE;
}
