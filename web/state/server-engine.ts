import {
  type AnswerEnd,
  type AnswerEvent,
  type AnswerRequest,
  type ChatEngine,
  ContextFull,
  PENALTY_WINDOW,
  present,
  type Sampling,
} from './engine.ts';
import type { ChatServer, ServerModel } from './chat-server.ts';

/** The parts of a streamed chunk that are read, by OpenAI's names and those of llama.cpp's server. */
interface Chunk {
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string | null;
      readonly reasoning_content?: string | null;
      readonly tool_calls?: readonly {
        readonly index: number;
        readonly id?: string;
        readonly function?: { readonly name?: string; readonly arguments?: string };
      }[];
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

  async *answer({
    messages,
    continues,
    sampling,
    tools,
    signal,
  }: AnswerRequest): AsyncGenerator<AnswerEvent, void> {
    const body = {
      model: this.#model.id,
      messages,
      stream: true,
      stream_options: { include_usage: true },
      return_progress: true,
      ...(continues && { continue_final_message: true }),
      ...(tools.length > 0 && { tools }),
      ...fieldsOf(sampling),
    };
    const response = await this.#server.post('v1/chat/completions', body, signal);
    if (!response.ok || !response.body) throw await refusalOf(response);
    let isFinished = false;
    let end: AnswerEnd = { reason: 'stop', promptTokens: 0, generatedTokens: 0 };
    for await (const { choices, usage, prompt_progress: prompt, error } of chunksOf(response.body)) {
      if (error) throw complaint(error);
      if (prompt) yield { kind: 'prompt', tokens: prompt.processed, totalTokens: prompt.total };
      const [choice] = choices ?? [];
      const { content, reasoning_content: reasoning, tool_calls: calls = [] } = choice?.delta ?? {};
      if (content || reasoning)
        yield { kind: 'piece', text: content ?? '', reasoning: reasoning ?? '', tokens: 1 };
      for (const { index, id, function: { name, arguments: text = '' } = {} } of calls)
        yield { kind: 'call', call: index, id, name, text };
      if (choice?.finish_reason) {
        isFinished = true;
        end = { ...end, reason: choice.finish_reason === 'length' ? 'length' : 'stop' };
      }
      if (usage)
        end = { ...end, promptTokens: usage.prompt_tokens, generatedTokens: usage.completion_tokens };
    }
    // A stream that breaks off without an error would otherwise look like a whole answer.
    if (!isFinished) throw new TypeError('the stream ended before the answer did');
    yield { kind: 'end', end };
    if (this.context === undefined) void this.#server.refresh();
  }
}

/** Sampling by the names of the server's fields. */
function fieldsOf(sampling: Sampling): object {
  const given = Object.entries(present(sampling)).map(([name, value]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value,
  ]);
  const window = sampling.repeatPenalty === undefined ? {} : { penalty_window: PENALTY_WINDOW };
  return { ...window, ...Object.fromEntries(given) };
}

/** The JSON values of server-sent events. */
async function* chunksOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<Chunk, void> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (!line.startsWith('data:')) continue;
        const data = line.slice('data:'.length).trim();
        if (data !== '[DONE]') yield JSON.parse(data) as Chunk;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
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
  const { message = 'error', n_prompt_tokens: tokens, n_ctx: context } = error;
  return tokens !== undefined && context !== undefined
    ? new ContextFull(tokens, context, { cause: error })
    : new Error(message);
}
