import { fail } from '../../base/errors.ts';
import type { ChatOptions, GenerateOptions } from '../../engine/generate-options.ts';
import type { TextModel } from '../../engine/text-model.ts';
import type { SampledToken } from '../../runtime/jobs/sampled-token.ts';
import { type AnswerPart, newCallId } from '../../text/index.ts';
import type { RequestContext } from '../request-context.ts';
import type { AnswerForm } from './answer-form.ts';
import type { ChoiceEvent, ChoiceEvents, TaskPrompts } from './choice-event.ts';
import { resultWithin } from '../event-stream.ts';
import { GenerationRecord } from './generation-record.ts';
import { mergeStreams } from './merge-streams.ts';
import { type Telemetry, withTelemetry } from './telemetry.ts';

/**
 * Milliseconds to wait for the first token, so that a request that cannot be served fails before its response starts.
 */
const FIRST_TOKEN_WAIT_MS = 1000;

/** A generation request of any API. */
export interface GenerationTask extends TaskPrompts {
  /** The form of an answer to a conversation. Without it, the prompt is a text to be continued. */
  readonly form?: AnswerForm;
  /** What the stream tells besides its text. Default: nothing. */
  readonly telemetry?: Telemetry | undefined;
  /** The reasoning options. */
  readonly reasoning?: ChatOptions['reasoning'];
}

/** A generation that has started: what is known immediately, and the events to come. */
export interface StartedGeneration {
  /** The name under which the model is served. */
  readonly id: string;
  readonly model: TextModel;
  readonly task: TaskPrompts;
  /** Seconds until the model was there. */
  readonly loadSeconds: number;
  /** Tokens of all prompts. */
  readonly promptTokens: number;
  readonly events: ChoiceEvents;
}

/**
 * Runs a task on a model by name: admits it, loads the model, and resolves when the first token arrives or takes long,
 * so that errors of the request are known before the response starts. Everything is released when the events end or are
 * left; admission and model as soon as the call is aborted. A stream that the client names is kept when it leaves. Rejects with `SERVER_BUSY`, `MODEL_NOT_FOUND`, and the errors
 * of loading and generating.
 */
export async function startGeneration(
  call: RequestContext,
  modelId: string | undefined,
  prepare: (model: TextModel) => Promise<GenerationTask>,
  isStreamed = false,
): Promise<StartedGeneration> {
  if (isStreamed) call.keepStream();
  const events = run(call, modelId, prepare);
  const first = await events.next();
  if (first.done || first.value.kind !== 'begin') throw new Error('a generation begins with its first event');
  const { id, model, task, loadSeconds } = first.value;
  const promptTokens = promptTokensOf(task);
  return { id, model, task, loadSeconds, promptTokens, events: events as ChoiceEvents };
}

function promptTokensOf({ prompts }: StartedGeneration['task']): number {
  return prompts.reduce((sum, { length }) => sum + length, 0);
}

async function* run(
  call: RequestContext,
  modelId: string | undefined,
  prepare: (model: TextModel) => Promise<GenerationTask>,
): AsyncGenerator<ChoiceEvent, void> {
  const { pool, gate } = call.server;
  using admission = gate.admit(call.tenant);
  const asked = performance.now();
  using lease = await pool.acquire(modelId, call.signal);
  const loadSeconds = (performance.now() - asked) / 1000;
  const { model } = lease;
  const task = withinLimits(await prepare(model), call);
  const count = task.prompts.length * task.choices;
  const atOnce = Math.min(count, gate.parallel);
  admission.reserve(atOnce);
  // Each of several has its own signal: many listeners on one signal would cause a leak warning.
  const stops = Array.from({ length: count > 1 ? count : 0 }, () => new AbortController());
  const signals = count > 1 ? stops.map(({ signal }) => signal) : [call.signal];
  const stop = () => {
    for (const controller of stops) controller.abort();
    // The next event may never be requested; others should not have to wait for that.
    lease[Symbol.dispose]();
    admission[Symbol.dispose]();
  };
  call.signal.addEventListener('abort', stop);
  if (call.signal.aborted) stop();
  const record = new GenerationRecord(call, lease.id, task.form ? 'chat' : 'text_completion');
  const { telemetry } = task;
  const choices = signals.map((signal, choice) => {
    const begin = (onPrompt?: GenerateOptions['onPrompt']) =>
      runChoice({ model, task, choice, signal, record, onPrompt });
    return telemetry ? withTelemetry(begin, { choice, telemetry }) : begin();
  });
  const merged = mergeStreams(choices, atOnce);
  try {
    const first = merged.next();
    // Handled below, unless the events are left before.
    first.catch(() => {});
    // A client that waits longer gets the response's headers meanwhile.
    await resultWithin(first, FIRST_TOKEN_WAIT_MS);
    yield { kind: 'begin', id: lease.name, model, task, loadSeconds };
    let next = await first;
    while (!next.done) {
      yield next.value;
      next = await merged.next();
    }
  } finally {
    await merged.return();
    call.signal.removeEventListener('abort', stop);
    record.report(promptTokensOf(task));
  }
}

/** The task within the server's limits, with its tenant. Throws `PRIORITY_FORBIDDEN`. */
function withinLimits(task: GenerationTask, { server, tenant, id, terms }: RequestContext): GenerationTask {
  const { shift, defaultMaxTokens = Number.POSITIVE_INFINITY } = server;
  const { maxTokens = defaultMaxTokens, scheduling } = task.options;
  const asked = scheduling?.priority ?? 0;
  if (asked !== 0 && !tenant.mayPrioritize) fail('PRIORITY_FORBIDDEN', { priority: asked });
  const priority = terms.priority ?? asked;
  const options = {
    ...server.sampling,
    ...task.options,
    maxTokens: Math.min(maxTokens, server.maxTokens),
    shift: shift && (task.options.shift ?? shift),
    scheduling: { ...scheduling, priority, tenant: tenant.name, request: id },
  };
  return { ...task, options };
}

async function* runChoice(of: {
  model: TextModel;
  task: GenerationTask;
  choice: number;
  signal: AbortSignal;
  record: GenerationRecord;
  onPrompt: GenerateOptions['onPrompt'];
}): ChoiceEvents {
  const { model, choice, signal, onPrompt } = of;
  const record = of.record.choice(choice);
  const { prompts, choices, options, form, reasoning } = of.task;
  const prompt = prompts[Math.floor(choice / choices)] ?? [];
  const seed = options.seed === undefined ? {} : { seed: seedOf(options.seed, choice % choices) };
  const how = { ...options, ...withinContext(prompt, options, model), ...seed, onPrompt, signal };
  if (!form) {
    const stream = model.generate(prompt, how);
    for await (const { text, token } of stream) {
      if (token) record.token();
      yield { kind: 'text', choice, text, token };
    }
    record.end(stream.end);
    yield { kind: 'end', choice, finish: stream.end.reason, end: stream.end, reasoningTokens: 0 };
    return;
  }
  const stream = model.answer(prompt, { ...how, ...form, reasoning });
  let isCalling = false;
  let reasoningTokens = 0;
  // Tokens whose text is held back belong to what comes next.
  let held = 0;
  for await (const { parts, token } of stream) {
    if (token) record.token();
    if (token) held++;
    if (parts.some(({ kind }) => kind === 'reasoning')) reasoningTokens += held;
    if (parts.length > 0) held = 0;
    isCalling ||= parts.some((part) => part.kind === 'end' && part.outcome === 'whole');
    yield* partEvents(parts, { choice, token, idLength: model.dialect.idLength });
  }
  const { end } = stream;
  record.end(end);
  const finish = isCalling && end.reason === 'stop' ? 'calls' : end.reason;
  yield { kind: 'end', choice, finish, end, reasoningTokens };
}

/**
 * The limits of a text, as clients count: prompt and text are within the context together. A context that is shifted is
 * never full, so a text without a limit gets a context's worth of tokens; what it keeps is of the prompt, and at most half.
 */
function withinContext(
  { length }: readonly number[],
  { maxTokens = Number.POSITIVE_INFINITY, shift }: GenerateOptions,
  { context }: TextModel,
): Pick<GenerateOptions, 'maxTokens' | 'shift'> {
  if (!shift) return { maxTokens: Math.min(maxTokens, Math.max(1, context - length)) };
  const keep = Math.min(shift.keep, length, Math.floor(context / 2));
  return { maxTokens: maxTokens === Number.POSITIVE_INFINITY ? context : maxTokens, shift: { keep } };
}

/** With one seed, all choices would be the same. The largest seed is followed by 0. */
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
      const { call, name, id = newCallId(of.idLength) } = part;
      yield { kind: 'call', choice, call, id, name };
    } else if (part.kind === 'arguments') {
      yield { kind: 'arguments', choice, call: part.call, text: part.text };
    } else if (part.kind === 'end') {
      yield { kind: 'call-end', choice, call: part.call, outcome: part.outcome };
    }
  }
  if (said) yield { kind: 'text', choice, text: '', token: said };
}
