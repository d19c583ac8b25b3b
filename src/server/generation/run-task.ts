import { fail } from '../../base/errors.ts';
import type { ChatOptions, GenerateOptions } from '../../engine/generate-options.ts';
import type { TextModel } from '../../engine/text-model.ts';
import type { SampledToken } from '../../runtime/jobs/sampled-token.ts';
import type { TextEnd } from '../../engine/text-stream.ts';
import { type AnswerPart, freshCallId } from '../../text/index.ts';
import type { RequestContext } from '../request-context.ts';
import type { AnswerForm } from './answer-form.ts';
import type { ChoiceEvent, ChoiceEvents } from './choice-event.ts';
import { within } from '../event-stream.ts';
import { mergeStreams } from './merge-streams.ts';

/** Milliseconds in which the first token may show that a request cannot be carried out, before its answer begins. */
const PATIENCE_MS = 1000;

/** What an endpoint asks of a model, whatever the API. */
export interface GenerationTask {
  readonly prompt: readonly number[];
  readonly options: GenerateOptions;
  /** Answers to the same prompt. */
  readonly choices: number;
  /** What each answer to a conversation is held to. Without it, the prompt is a text that is continued. */
  readonly form?: AnswerForm;
  /** What is wanted of the reasoning. */
  readonly reasoning?: ChatOptions['reasoning'];
}

/** A generation that has begun: what is known at once, and the events to come. */
export interface Begun {
  /** The name under which the model is served. */
  readonly id: string;
  readonly model: TextModel;
  readonly prompt: readonly number[];
  readonly promptTokens: number;
  readonly events: ChoiceEvents;
}

/**
 * Runs a task on the model of a name: lets it in, loads the model, and resolves when the first token is there or takes long, so
 * that what is wrong with the request is known before anything is answered. Everything is given back when the events end or
 * are left, place and model as soon as the call is aborted. Rejects with `SERVER_BUSY`, `MODEL_NOT_FOUND`, and what loading
 * and generating reject with.
 */
export async function begin(
  call: RequestContext,
  modelId: string | undefined,
  prepare: (model: TextModel) => Promise<GenerationTask>,
): Promise<Begun> {
  const events = run(call, modelId, prepare);
  const first = await events.next();
  if (first.done || first.value.kind !== 'begin') throw new Error('a generation begins with its first event');
  const { id, model, prompt } = first.value;
  return { id, model, prompt, promptTokens: prompt.length, events: events as ChoiceEvents };
}

async function* run(
  call: RequestContext,
  modelId: string | undefined,
  prepare: (model: TextModel) => Promise<GenerationTask>,
): AsyncGenerator<ChoiceEvent, void> {
  const { pool, gate } = call.server;
  using place = gate.enter(call.tenant);
  using lease = await pool.acquire(modelId, call.signal);
  const { model } = lease;
  const task = allowed(await prepare(model), call);
  const atOnce = Math.min(task.choices, gate.parallel);
  place.widen(atOnce);
  // Each choice listens to a signal of its own: one signal with a hundred listeners looks like a leak.
  const stops = Array.from({ length: task.choices }, () => new AbortController());
  const stop = () => {
    for (const controller of stops) controller.abort();
    // Nobody may ever ask for the next event; others need not wait for that.
    lease[Symbol.dispose]();
    place[Symbol.dispose]();
  };
  call.signal.addEventListener('abort', stop);
  if (call.signal.aborted) stop();
  const choices = stops.map(({ signal }, choice) => runChoice({ model, task, choice, signal }));
  const merged = mergeStreams(choices, atOnce);
  const totals = new Totals(call, lease.id);
  try {
    const first = merged.next();
    // It is looked at below, unless the events are left before.
    first.catch(() => {});
    // Whoever waits longer learns by the answer's headers that it is under way.
    await within(first, PATIENCE_MS);
    yield { kind: 'begin', id: lease.id, model, prompt: task.prompt };
    let next = await first;
    while (!next.done) {
      if (next.value.kind === 'end') totals.add(next.value.end);
      yield next.value;
      next = await merged.next();
    }
  } finally {
    await merged.return();
    call.signal.removeEventListener('abort', stop);
    totals.report(task.prompt.length);
  }
}

/** A task within the server's limits, which says whose it is. Throws `PRIORITY_FORBIDDEN`. */
function allowed(task: GenerationTask, { server, tenant, id }: RequestContext): GenerationTask {
  const { maxTokens = Number.POSITIVE_INFINITY, scheduling } = task.options;
  const priority = scheduling?.priority ?? 0;
  if (priority !== 0 && !tenant.mayPrioritize) fail('PRIORITY_FORBIDDEN', { priority });
  const options = {
    ...task.options,
    maxTokens: Math.min(maxTokens, server.maxTokens),
    scheduling: { priority, tenant: tenant.name, request: id },
  };
  return { ...task, options };
}

async function* runChoice(of: {
  model: TextModel;
  task: GenerationTask;
  choice: number;
  signal: AbortSignal;
}): ChoiceEvents {
  const { model, choice, signal } = of;
  const { prompt, options, form, reasoning } = of.task;
  const seed = options.seed === undefined ? {} : { seed: seedOf(options.seed, choice) };
  const how = { ...options, ...seed, signal };
  if (!form) {
    const stream = model.generate(prompt, how);
    for await (const { text, token } of stream) yield { kind: 'text', choice, text, token };
    yield { kind: 'end', choice, finish: stream.end.reason, end: stream.end };
    return;
  }
  const stream = model.answer(prompt, { ...how, ...form, reasoning });
  let isCalling = false;
  for await (const { parts, token } of stream) {
    isCalling ||= parts.some((part) => part.kind === 'end' && part.outcome === 'whole');
    yield* partEvents(parts, { choice, token, idLength: model.dialect.idLength });
  }
  const { end } = stream;
  yield { kind: 'end', choice, finish: isCalling && end.reason === 'stop' ? 'calls' : end.reason, end };
}

/** Choices of one seed would all be the same; behind the largest comes 0. */
function seedOf(seed: number, choice: number): number {
  const left = Number.MAX_SAFE_INTEGER - seed;
  return choice <= left ? seed + choice : choice - left - 1;
}

/** The events of an answer's parts; the token goes with the first text, or with an empty one. */
function* partEvents(
  parts: readonly AnswerPart[],
  of: { choice: number; token: SampledToken | undefined; idLength: number | undefined },
): Generator<Exclude<ChoiceEvent, { kind: 'begin' | 'end' }>, void> {
  const { choice } = of;
  let said = of.token;
  for (const part of parts) {
    if (part.kind === 'text') {
      yield { kind: 'text', choice, text: part.text, token: said };
      said = undefined;
    } else if (part.kind === 'reasoning') yield { kind: 'reasoning', choice, text: part.text };
    else if (part.kind === 'call') {
      const { call, name, id = freshCallId(of.idLength) } = part;
      yield { kind: 'call', choice, call, id, name };
    } else if (part.kind === 'arguments') {
      yield { kind: 'arguments', choice, call: part.call, text: part.text };
    } else if (part.kind === 'end') {
      yield { kind: 'call-end', choice, call: part.call, outcome: part.outcome };
    }
  }
  if (said) yield { kind: 'text', choice, text: '', token: said };
}

/** Adds up what the choices took, for the log and the metrics. */
class Totals {
  readonly #call: RequestContext;
  readonly #model: string;
  #generated = 0;
  #cached = 0;

  constructor(call: RequestContext, model: string) {
    this.#call = call;
    this.#model = model;
  }

  add(end: TextEnd): void {
    this.#generated += end.generatedTokens;
    this.#cached = Math.max(this.#cached, end.cachedTokens);
    this.#call.server.metrics.generation({ ...end, model: this.#model });
  }

  report(promptTokens: number): void {
    const facts = { promptTokens, cachedTokens: this.#cached, generatedTokens: this.#generated };
    this.#call.note({ model: this.#model, ...facts });
  }
}
