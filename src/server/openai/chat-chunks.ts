import type { TextEnd } from '../../engine/text-stream.ts';
import type { StreamEvent } from '../event-stream.ts';
import type { ChoiceEvent } from '../generation/choice-event.ts';
import type { RequestContext } from '../request-context.ts';
import type { StartedGeneration } from '../generation/run-task.ts';
import { told } from '../generation/telemetry.ts';
import { soleTimings } from '../generation/timings.ts';
import { finishReason } from './chat-answer.ts';
import { type ChatBody, isLegacy } from './chat-body.ts';
import { contentLogprob } from './logprobs.ts';
import { usageOf } from './usage.ts';

/** The common fields of a response's chunks. */
export interface ResponseHead {
  readonly id: string;
  readonly created: number;
  readonly model: string;
  /** What changes when answers of the same seed may. */
  readonly system_fingerprint: string;
}

/** The server's build, in a form that clients of llama.cpp's server recognize: `b`, a number, and more. */
export function buildOf({ version }: RequestContext['server']): string {
  return `b${version}-rocmforge`;
}

/** The fingerprint of this server. */
export function fingerprintOf({ server }: RequestContext): Pick<ResponseHead, 'system_fingerprint'> {
  return { system_fingerprint: buildOf(server) };
}

/** The last event of OpenAI's streams. */
export const DONE: StreamEvent = { data: '[DONE]' };

/** Converts a generation's events to the chunks of a streamed chat. */
export async function* chatChunks(
  request: ChatBody,
  generation: StartedGeneration,
  /** `verbose` is what the last chunk of each choice also has. */
  { head, verbose }: { readonly head: ResponseHead; readonly verbose: object },
): AsyncGenerator<StreamEvent, void> {
  const withUsage = request.stream_options?.include_usage === true;
  const base = { ...head, object: 'chat.completion.chunk', ...(withUsage ? { usage: null } : {}) };
  const chunk = (choice: object, more: object = {}): StreamEvent => ({
    data: JSON.stringify({ ...base, choices: [choice], ...more }),
  });
  const choices = request.n ?? 1;
  const legacy = isLegacy(request);
  for (let index = 0; index < choices; index++) {
    yield chunk({ index, delta: { role: 'assistant', content: null }, logprobs: null, finish_reason: null });
  }
  const ends: TextEnd[] = [];
  for await (const event of generation.events) {
    const { choice: index } = event;
    if (event.kind === 'end') {
      ends.push(event.end);
      const finish_reason = finishReason(event.finish, legacy);
      yield chunk({ index, delta: {}, logprobs: null, finish_reason }, { ...told(event), ...verbose });
      continue;
    }
    if (event.kind === 'prompt') {
      yield chunk({ index, delta: {}, logprobs: null, finish_reason: null }, told(event));
      continue;
    }
    const delta = deltaOf(event, legacy);
    const token = request.logprobs && event.kind === 'text' ? event.token : undefined;
    if (!delta && !token) continue;
    const logprobs = token && { content: [contentLogprob(generation.model.tokenizer, token)], refusal: null };
    const choice = {
      index,
      delta: delta ?? { content: '' },
      logprobs: logprobs ?? null,
      finish_reason: null,
    };
    yield chunk(choice, told(event));
  }
  if (withUsage) {
    const usage = usageOf(generation.promptTokens, ends);
    yield { data: JSON.stringify({ ...base, choices: [], usage, ...soleTimings(ends) }) };
  }
  yield DONE;
}

/** What an event adds to a message; undefined while a character or a stop string is incomplete. */
function deltaOf(
  event: Exclude<ChoiceEvent, { kind: 'begin' | 'end' | 'prompt' }>,
  legacy: boolean,
): object | undefined {
  if (event.kind === 'text') return event.text === '' ? undefined : { content: event.text };
  if (event.kind === 'reasoning') return { reasoning_content: event.text };
  if (event.kind === 'call-end') return undefined;
  const { call: index } = event;
  if (legacy) return index > 0 ? undefined : { function_call: functionDelta(event) };
  if (event.kind === 'arguments') return { tool_calls: [{ index, function: { arguments: event.text } }] };
  const { id, name } = event;
  return { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] };
}

/** What an event adds to a call by its older name. */
function functionDelta(event: Extract<ChoiceEvent, { kind: 'call' | 'arguments' }>): object {
  return event.kind === 'call' ? { name: event.name, arguments: '' } : { arguments: event.text };
}
