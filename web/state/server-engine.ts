import {
  type AnswerEnd,
  type AnswerEvent,
  AnswerGone,
  type AnswerRequest,
  type ChatEngine,
  ContextFull,
  NO_SUCH_REASONING,
  PENALTY_WINDOW,
  present,
  reasonedAnswer,
  ReasoningRefused,
  type ReasoningWish,
  type Sampling,
} from './engine.ts';
import type { ChatServer, NamedRequest, ServerModel } from './chat-server.ts';
import { freshId } from './chat-store.ts';
import { EventLines } from './event-lines.ts';

/** The parts of a streamed chunk that are read, by OpenAI's names and those of llama.cpp's server. */
interface Chunk {
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string | null;
      readonly reasoning_content?: string | null;
      readonly tool_calls?:
        | readonly {
            readonly index: number;
            readonly id?: string;
            readonly function?: { readonly name?: string | null; readonly arguments?: string | null };
          }[]
        | null;
    };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
  readonly prompt_progress?: { readonly total: number; readonly processed: number };
  readonly error?: ServerComplaint;
}

/** An error in the words of the server. */
interface ServerComplaint {
  readonly message?: string;
  readonly code?: string | null;
  readonly n_prompt_tokens?: number;
  readonly n_ctx?: number;
}

/** A model on the server that the page comes from, by the server's own API. */
export class ServerEngine implements ChatEngine {
  readonly place = 'server';
  readonly device = 'server';
  readonly title: string;
  readonly #server: ChatServer;
  readonly #model: ServerModel;
  readonly #refused = new Set<ReasoningWish>();

  constructor(server: ChatServer, model: ServerModel) {
    this.title = model.id;
    this.#server = server;
    this.#model = model;
  }

  get context(): number | undefined {
    // Known once the model is loaded, which may have happened since.
    const now = this.#server.models.value.find(({ id }) => id === this.#model.id);
    return (now ?? this.#model).context;
  }

  answer(request: AnswerRequest): AsyncGenerator<AnswerEvent, void> {
    return reasonedAnswer(request.reasoning, this.#refused, (wish) => this.#ask(request, wish));
  }

  async *#ask(
    { messages, continues, sampling, tools, name, fields, signal }: AnswerRequest,
    { enabled, budget }: ReasoningWish = {},
  ): AsyncGenerator<AnswerEvent, void> {
    const body = {
      model: this.#model.id,
      messages,
      stream: true,
      stream_options: { include_usage: true },
      return_progress: true,
      ...(continues && { continue_final_message: true }),
      ...(enabled !== undefined && { chat_template_kwargs: { enable_thinking: enabled } }),
      ...(budget !== undefined && { reasoning_budget_tokens: budget }),
      ...(tools.length > 0 && { tools }),
      ...fieldsOf(sampling),
      ...fields,
    };
    const request = { stream: name ?? freshId(), signal };
    yield* this.#events(this.#server.post('v1/chat/completions', body, request), request);
  }

  async *resume(stream: string, signal: AbortSignal): AsyncGenerator<AnswerEvent, void> {
    const request = { stream, signal };
    const response = await this.#server.goOn(request, 0);
    if (!response.ok) throw new AnswerGone();
    yield* this.#events(response, request);
  }

  async *#events(
    asked: Response | Promise<Response>,
    request: NamedRequest,
  ): AsyncGenerator<AnswerEvent, void> {
    try {
      const response = await asked;
      if (!response.ok || !response.body) throw await refusalOf(response);
      const type = response.headers.get('content-type') ?? '';
      if (!type.startsWith('text/event-stream')) throw new SyntaxError(`an answer of the type ${type}`);
      // What answers is loaded by now.
      if (this.context === undefined) void this.#server.refresh();
      yield* this.#answerOf(response.body, request);
    } finally {
      // It would go on without anybody who reads it.
      if (request.signal.aborted) void this.#server.end(request.stream);
    }
  }

  async *#answerOf(
    body: ReadableStream<Uint8Array<ArrayBuffer>>,
    request: NamedRequest,
  ): AsyncGenerator<AnswerEvent, void> {
    let reason: AnswerEnd['reason'] = 'stop';
    let counts = { promptTokens: 0, generatedTokens: 0 };
    /** The calls by the server's numbers, which may leave some out. */
    const numbers: number[] = [];
    for await (const chunk of this.#chunks(body, request)) {
      if (chunk === 'lost') {
        yield { kind: 'lost' };
        continue;
      }
      const { choices: [choice] = [], usage, prompt_progress: prompt, error } = chunk;
      if (error) throw complaint(error);
      if (prompt) yield { kind: 'prompt', tokens: prompt.processed, totalTokens: prompt.total };
      const { content, reasoning_content: reasoning, tool_calls } = choice?.delta ?? {};
      const calls = tool_calls ?? [];
      if (content || reasoning)
        yield { kind: 'piece', text: content ?? '', reasoning: reasoning ?? '', tokens: 1 };
      for (const { index, id, function: { name, arguments: text } = {} } of calls) {
        if (!numbers.includes(index)) numbers.push(index);
        yield { kind: 'call', call: numbers.indexOf(index), id, name: name ?? undefined, text: text ?? '' };
      }
      if (choice?.finish_reason) reason = choice.finish_reason === 'length' ? 'length' : 'stop';
      if (usage) counts = { promptTokens: usage.prompt_tokens, generatedTokens: usage.completion_tokens };
    }
    yield { kind: 'end', end: { reason, ...counts } };
  }

  /** The chunks of an answer. A connection that is lost is made again, as long as the server keeps the stream. */
  async *#chunks(
    first: ReadableStream<Uint8Array<ArrayBuffer>>,
    request: NamedRequest,
  ): AsyncGenerator<Chunk | 'lost', void> {
    const lines = new EventLines();
    let isFinished = false;
    let body: ReadableStream<Uint8Array<ArrayBuffer>> | undefined = first;
    while (body) {
      try {
        for await (const chunk of lines.read(body) as AsyncGenerator<Chunk, void>) {
          isFinished ||= Boolean(chunk.choices?.[0]?.finish_reason ?? chunk.error);
          yield chunk;
        }
        if (isFinished) return;
        // A stream that breaks off without an error would otherwise look like a whole answer.
        throw new TypeError('the stream ended before the answer did');
      } catch (error) {
        // What fails otherwise, such as what is no JSON, will not be better the next time.
        if (!(error instanceof TypeError) || request.signal.aborted) throw error;
        yield 'lost';
        body = await this.#goOn(request, lines.byteLength);
        if (!body) throw error;
      }
    }
  }

  /** The rest of a stream; undefined if the server does not answer in time, or does not keep it. */
  async #goOn(
    request: NamedRequest,
    from: number,
  ): Promise<ReadableStream<Uint8Array<ArrayBuffer>> | undefined> {
    for (const pause of PAUSES) {
      await new Promise((resolve) => setTimeout(resolve, pause));
      request.signal.throwIfAborted();
      const response = await this.#server.goOn(request, from).catch(() => undefined);
      if (response) return response.ok ? (response.body ?? undefined) : undefined;
    }
    return undefined;
  }
}

/** How long a lost connection is left alone, each time, in milliseconds. */
const PAUSES = [500, 1500, 3000];

/** Sampling by the names of the server's fields. */
function fieldsOf(sampling: Sampling): object {
  const given = Object.entries(present(sampling)).map(([name, value]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value,
  ]);
  const window = sampling.repeatPenalty === undefined ? {} : { penalty_window: PENALTY_WINDOW };
  return { ...window, ...Object.fromEntries(given) };
}

/** The error that a response tells. */
async function refusalOf(response: Response): Promise<Error> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as { error: ServerComplaint };
    return complaint(error);
  } catch {
    return new Error(`${response.status} ${response.statusText}`);
  }
}

function complaint(error: ServerComplaint): Error {
  const { message = 'error', code, n_prompt_tokens: tokens, n_ctx: context } = error;
  if (code === NO_SUCH_REASONING) return new ReasoningRefused(message);
  return tokens !== undefined && context !== undefined
    ? new ContextFull(tokens, context, { cause: error })
    : new Error(message);
}
