import type { TextEnd } from '../../engine/text-stream.ts';
import type { ChoiceEvent } from '../generation/choice-event.ts';
import type { StartedGeneration } from '../generation/run-task.ts';
import { type ContentLogprob, contentLogprob } from './logprobs.ts';
import type { ResponsesBody } from './responses-schema.ts';
import { nowSeconds } from '../fresh-id.ts';
import { itemId, withIncluded } from './response-items.ts';

/** An event of a streamed response, without its sequence number. */
export interface ResponseEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

type Status = 'in_progress' | 'completed' | 'incomplete';

interface MessageItem {
  readonly type: 'message';
  readonly id: string;
  status: Status;
  text: string;
  readonly logprobs: ContentLogprob[];
}

/** The model's reasoning, in the form that OpenAI's API has for open models. */
interface ReasoningItem {
  readonly type: 'reasoning';
  readonly id: string;
  status: Status;
  text: string;
}

interface CallItem {
  readonly type: 'function_call';
  readonly id: string;
  readonly call_id: string;
  readonly name: string;
  arguments: string;
  status: Status;
}

type Item = MessageItem | ReasoningItem | CallItem;

/** What is known of a response before its generation begins. */
export interface ResponseHead {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  /** The name of its model. */
  readonly model: string;
  /** The conversation that it is added to. */
  readonly conversation: string | null;
}

/** How far a response has come. */
export interface ResponseState {
  readonly status: Status | 'queued' | 'failed' | 'cancelled';
  readonly output: readonly object[];
  readonly usage: object | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly isStored: boolean;
  /** When it ended, in seconds since 1970. */
  readonly completed: number | null;
}

/** A response that has not begun. */
export const QUEUED: ResponseState = {
  status: 'queued',
  output: [],
  usage: null,
  error: null,
  isStored: true,
  completed: null,
};

/** A response of OpenAI's API. */
export function responseObject(request: ResponsesBody, head: ResponseHead, state: ResponseState): object {
  const { max_output_tokens, temperature, top_p, instructions, metadata, previous_response_id } = request;
  const { parallel_tool_calls, text, tool_choice, tools, reasoning, reasoning_effort, background } = request;
  const { status, output, usage, error, isStored } = state;
  return {
    id: head.id,
    object: 'response',
    created_at: head.created,
    completed_at: state.completed,
    status,
    background: background === true,
    conversation: head.conversation === null ? null : { id: head.conversation },
    error,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    instructions: instructions ?? null,
    max_output_tokens: max_output_tokens ?? null,
    metadata: metadata ?? {},
    model: head.model,
    output: withIncluded(output, request.include),
    parallel_tool_calls: parallel_tool_calls !== false,
    previous_response_id: previous_response_id ?? null,
    reasoning: { effort: reasoning?.effort ?? reasoning_effort ?? null, summary: null },
    store: isStored,
    temperature: temperature ?? null,
    text: text ?? { format: { type: 'text' } },
    tool_choice: tool_choice ?? 'auto',
    tools: tools ?? [],
    top_p: top_p ?? null,
    truncation: request.truncation ?? 'disabled',
    usage,
  };
}

/** Builds a response of OpenAI's API from a generation's events, and the events that stream it. */
export class ResponseWriter {
  readonly #request: ResponsesBody;
  readonly #head: ResponseHead;
  readonly #generation: StartedGeneration;
  readonly #items: Item[] = [];
  #end: (TextEnd & { readonly reasoningTokens: number }) | undefined;
  #completed: number | null = null;
  /** Whether the response can be requested again. */
  isStored = false;

  constructor(request: ResponsesBody, head: ResponseHead, generation: StartedGeneration) {
    this.#request = request;
    this.#head = head;
    this.#generation = generation;
  }

  /** The first events of a stream. */
  *start(): Generator<ResponseEvent, void> {
    yield { type: 'response.created', response: this.response() };
    yield { type: 'response.in_progress', response: this.response() };
  }

  /** The stream events for a generation's event. */
  *take(event: Exclude<ChoiceEvent, { kind: 'begin' }>): Generator<ResponseEvent, void> {
    if (event.kind === 'prompt') yield { type: 'response.in_progress', response: this.response() };
    else if (event.kind === 'text') yield* this.#text(event);
    else if (event.kind === 'reasoning') yield* this.#reasoning(event.text);
    else if (event.kind === 'call') {
      const item = { id: this.#nextId('fc_'), call_id: event.id, name: event.name, arguments: '' };
      yield* this.#open({ type: 'function_call', ...item, status: 'in_progress' });
    } else if (event.kind === 'arguments') {
      const item = this.#items.at(-1) as CallItem;
      item.arguments += event.text;
      yield { type: 'response.function_call_arguments.delta', ...this.#place(), delta: event.text };
    } else if (event.kind === 'call-end') {
      if (event.outcome !== 'whole') (this.#items.at(-1) as CallItem).status = 'incomplete';
    } else {
      if (this.#items.length === 0) yield* this.#open(this.#newMessage());
      this.#end = { ...event.end, reasoningTokens: event.reasoningTokens };
      this.#completed = nowSeconds();
      yield* this.#close(this.#status());
    }
  }

  /** The last event of a stream, once the generation has ended. */
  finish(): ResponseEvent {
    const type = this.#status() === 'completed' ? 'response.completed' : 'response.incomplete';
    return { type, response: this.response() };
  }

  /** The response so far. */
  response(): object {
    return responseObject(this.#request, this.#head, {
      status: this.#status(),
      output: this.#items.map(itemObject),
      usage: this.#end ? this.#usage(this.#end) : null,
      error: null,
      isStored: this.isStored,
      completed: this.#completed,
    });
  }

  *#text({ text, token }: ChoiceEvent & { kind: 'text' }): Generator<ResponseEvent, void> {
    const { top_logprobs: top, include } = this.#request;
    const isWanted = typeof top === 'number' || include?.includes('message.output_text.logprobs');
    const wanted = isWanted ? token : undefined;
    if (text === '' && !wanted) return;
    if (this.#items.at(-1)?.type !== 'message') yield* this.#open(this.#newMessage());
    const item = this.#items.at(-1) as MessageItem;
    const logprobs = wanted ? [contentLogprob(this.#generation.model.tokenizer, wanted)] : [];
    item.text += text;
    item.logprobs.push(...logprobs);
    yield { type: 'response.output_text.delta', ...this.#place(), content_index: 0, delta: text, logprobs };
  }

  *#reasoning(delta: string): Generator<ResponseEvent, void> {
    if (this.#items.at(-1)?.type !== 'reasoning') {
      yield* this.#open({ type: 'reasoning', id: this.#nextId('rs_'), status: 'in_progress', text: '' });
    }
    (this.#items.at(-1) as ReasoningItem).text += delta;
    yield { type: 'response.reasoning_text.delta', ...this.#place(), content_index: 0, delta };
  }

  #nextId(prefix: string): string {
    return itemId(prefix, this.#head.id, `o${this.#items.length}`);
  }

  #newMessage(): MessageItem {
    const id = this.#nextId('msg_');
    return { type: 'message', id, status: 'in_progress', text: '', logprobs: [] };
  }

  *#open(item: Item): Generator<ResponseEvent, void> {
    if (this.#items.length > 0) yield* this.#close('completed');
    this.#items.push(item);
    const output_index = this.#items.length - 1;
    const opened = { ...itemObject(item), ...(item.type === 'function_call' ? {} : { content: [] }) };
    yield { type: 'response.output_item.added', output_index, item: opened };
    if (item.type === 'function_call') return;
    const [part] = contentOf(item);
    yield { type: 'response.content_part.added', ...this.#place(), content_index: 0, part };
  }

  /** Ends the last item, which is incomplete if a limit cut it off. */
  *#close(status: Status): Generator<ResponseEvent, void> {
    const item = this.#items.at(-1) as Item;
    if (item.status === 'in_progress') item.status = status;
    const place = this.#place();
    if (item.type === 'message') {
      const { text, logprobs } = item;
      const [part] = contentOf(item);
      yield { type: 'response.output_text.done', ...place, content_index: 0, text, logprobs };
      yield { type: 'response.content_part.done', ...place, content_index: 0, part };
    } else if (item.type === 'reasoning') {
      const [part] = contentOf(item);
      yield { type: 'response.reasoning_text.done', ...place, content_index: 0, text: item.text };
      yield { type: 'response.content_part.done', ...place, content_index: 0, part };
    } else {
      const { name, arguments: whole } = item;
      yield { type: 'response.function_call_arguments.done', ...place, name, arguments: whole };
    }
    const { output_index } = place;
    const [done] = withIncluded([itemObject(item)], this.#request.include);
    yield { type: 'response.output_item.done', output_index, item: done };
  }

  #place(): { item_id: string; output_index: number } {
    const output_index = this.#items.length - 1;
    return { item_id: (this.#items[output_index] as MessageItem).id, output_index };
  }

  #status(): Status {
    if (!this.#end) return 'in_progress';
    return this.#end.reason === 'length' ? 'incomplete' : 'completed';
  }

  #usage({
    cachedTokens,
    generatedTokens,
    reasoningTokens,
  }: TextEnd & { readonly reasoningTokens: number }): object {
    const { promptTokens } = this.#generation;
    return {
      input_tokens: promptTokens,
      input_tokens_details: { cached_tokens: cachedTokens },
      output_tokens: generatedTokens,
      output_tokens_details: { reasoning_tokens: reasoningTokens },
      total_tokens: promptTokens + generatedTokens,
    };
  }
}

function itemObject(item: Item): object {
  if (item.type === 'function_call') return { ...item };
  const { type, id, status } = item;
  if (type === 'reasoning') return { type, id, status, summary: [], content: contentOf(item) };
  return { type, id, status, role: 'assistant', content: contentOf(item) };
}

function contentOf(item: MessageItem | ReasoningItem): object[] {
  if (item.type === 'reasoning') return [{ type: 'reasoning_text', text: item.text }];
  return [{ type: 'output_text', text: item.text, annotations: [], logprobs: item.logprobs }];
}
