import { fail } from '../base/errors.ts';
import { describeValue } from '../base/option-values.ts';
import { checkModel } from './call-arguments.ts';
import { checkOptions, type OptionNames } from '../base/options.ts';
import { AnswerCollector, type AnswerMessage, type ChatMessage } from '../text/index.ts';
import type { ChatChunk, ChatStream } from './chat-stream.ts';
import type { ChatOptions } from './generate-options.ts';
import { CHAT_OPTIONS } from './option-names.ts';
import { type TextEnd, TextStream } from './text-stream.ts';
import type { Tool } from './tool.ts';
import { type ResultOf, valueBy } from './typed-schema.ts';

/** What answers a session's conversation: a model in Node or in a browser. */
export interface ChatModel {
  chat(messages: readonly ChatMessage[], options?: ChatOptions): ChatStream;
}

/** Options of the answers of a session. */
export interface SessionChatOptions<S = unknown> extends Omit<ChatOptions<S>, 'tools' | 'continueFinal'> {
  /** The functions that the model may call; their results go back to it until it answers. Default: the session's. */
  readonly tools?: readonly Tool[] | undefined;
  /** Answers with calls in a row, after which `TOOL_STEPS` ends the loop. Default 8. */
  readonly maxSteps?: number | undefined;
}

/** Options of a session; those of answers are defaults. */
export interface SessionOptions extends SessionChatOptions {
  /** The system message. Default: none. */
  readonly system?: string | undefined;
}

const { continueFinal: _, ...ANSWERS } = CHAT_OPTIONS;
const SESSION_CHAT_OPTIONS: OptionNames<SessionChatOptions> = { ...ANSWERS, maxSteps: true };
const SESSION_OPTIONS: OptionNames<SessionOptions> = { ...SESSION_CHAT_OPTIONS, system: true };

/** A conversation as plain data, for JSON. */
export interface SavedSession {
  readonly version: 1;
  readonly system?: string | undefined;
  readonly messages: readonly ChatMessage[];
}

/** A function's result. */
export interface ToolResult {
  readonly id: string;
  readonly name: string;
  /** The arguments as the model wrote them, JSON. */
  readonly arguments: string;
  readonly result: unknown;
}

/** A piece of an answer, or the results of functions before the model goes on. */
export interface SessionChunk extends ChatChunk {
  readonly results: readonly ToolResult[];
}

const DEFAULT_MAX_STEPS = 8;

/** How many answers with calls there may be in a row. */
const MOST_STEPS = 1000;

/** What a turn adds to the conversation: the question, calls and their results, the answer. */
interface Turn {
  /** The messages before it. */
  readonly before: readonly ChatMessage[];
  readonly question: ChatMessage | undefined;
  readonly steps: ChatMessage[];
}

/**
 * A conversation with a model: it keeps the messages, runs the functions that the model calls, and can be branched, saved and
 * loaded. One answer at a time; the model stays the caller's.
 */
export class ChatSession {
  readonly #model: ChatModel;
  readonly #options: SessionChatOptions;
  #system: string | undefined;
  #messages: readonly ChatMessage[];
  #isAnswering = false;

  /** Throws `OPTION_UNKNOWN` or `INVALID_ARGUMENT`. */
  constructor(model: ChatModel, of: SessionOptions = {}) {
    checkOptions('a chat session', of, { ...SESSION_OPTIONS, system: true });
    const { system, ...options } = of;
    checkModel(model);
    checkTools(options.tools);
    this.#model = model;
    this.#options = options;
    this.#system = system;
    this.#messages = [];
    stepsOf(options);
  }

  /** Continues a saved conversation. Throws as the constructor, and `INVALID_ARGUMENT` for what is no saved conversation. */
  static load(
    model: ChatModel,
    saved: SavedSession,
    options: Omit<SessionOptions, 'system'> = {},
  ): ChatSession {
    const { version, system, messages } = (saved ?? {}) as Partial<SavedSession>;
    const isText = system === undefined || typeof system === 'string';
    if (version !== 1 || !isText || !Array.isArray(messages)) {
      const found = `version ${String(version)}`;
      fail('INVALID_ARGUMENT', { name: 'saved', found, expected: 'what ChatSession.save has returned' });
    }
    const session = new ChatSession(model, { ...options, system });
    session.#messages = [...messages];
    return session;
  }

  /** All messages, the system message first. */
  get messages(): readonly ChatMessage[] {
    if (this.#system === undefined) return this.#messages;
    return [{ role: 'system', content: this.#system }, ...this.#messages];
  }

  /** The system message; setting it leaves the other messages as they are. */
  get system(): string | undefined {
    return this.#system;
  }

  set system(text: string | undefined) {
    this.#system = text;
  }

  /**
   * Asks a question. The answer, with the calls before it, joins the conversation when it ends; if it is left early, what was said
   * so far does, and if that is nothing, the question does not either. Throws `OPTION_UNKNOWN`; rejects as `TextModel.chat`, and
   * with `SESSION_BUSY`, `TOOL_FAILED` and `TOOL_STEPS`.
   */
  ask<const S = unknown>(
    question: string | ChatMessage,
    options: SessionChatOptions<S> = {},
  ): SessionStream<ResultOf<S>> {
    const message = typeof question === 'string' ? ({ role: 'user', content: question } as const) : question;
    return this.#stream(() => ({ before: this.#messages, question: message, steps: [] }), options);
  }

  /** Answers the last question again, in place of the answer that it has. Throws and rejects as `ask`. */
  regenerate<const S = unknown>(options: SessionChatOptions<S> = {}): SessionStream<ResultOf<S>> {
    return this.#stream(() => {
      const at = this.#lastQuestion();
      return { before: this.#messages.slice(0, at), question: this.#messages[at], steps: [] };
    }, options);
  }

  /** Removes the last question and everything behind it; returns the question. Throws `INVALID_ARGUMENT` if there is none. */
  undo(): ChatMessage {
    this.#requireIdle();
    const at = this.#lastQuestion();
    const question = this.#messages[at] as ChatMessage;
    this.#messages = this.#messages.slice(0, at);
    return question;
  }

  /** A branch: another session with the same model, options and messages, which then go their own ways. */
  fork(): ChatSession {
    const branch = new ChatSession(this.#model, { ...this.#options, system: this.#system });
    branch.#messages = this.#messages;
    return branch;
  }

  /** Removes all messages but the system message. Throws `SESSION_BUSY`. */
  clear(): void {
    this.#requireIdle();
    this.#messages = [];
  }

  /** The conversation as plain data: `JSON.stringify` it, and `ChatSession.load` continues it. */
  save(): SavedSession {
    const system = this.#system;
    return { version: 1, ...(system !== undefined && { system }), messages: [...this.#messages] };
  }

  #stream<S>(begin: () => Turn, of: SessionChatOptions<S>): SessionStream<ResultOf<S>> {
    checkOptions('a chat session', of, SESSION_CHAT_OPTIONS);
    const options: SessionChatOptions<S> = { ...(this.#options as SessionChatOptions<S>), ...of };
    stepsOf(options);
    const source = (complete: (end: TextEnd) => void) => this.#answer(begin, options, complete);
    return new SessionStream(source, (value) => valueBy(options.schema as S, value));
  }

  /** Answers, and runs what the model calls, until it calls nothing. */
  async *#answer(
    begin: () => Turn,
    options: SessionChatOptions,
    complete: (end: TextEnd) => void,
  ): AsyncGenerator<SessionChunk, void> {
    this.#requireIdle();
    this.#isAnswering = true;
    let turn: Turn | undefined;
    try {
      turn = begin();
      for (let step = 0; ; step++) {
        const stream = this.#step(turn, step, options);
        const message = yield* heard(stream, turn);
        const { tool_calls: calls = [] } = message;
        if (calls.length === 0 || !options.tools?.length) return complete(stream.end);
        const most = stepsOf(options);
        if (step + 1 >= most) fail('TOOL_STEPS', { steps: most });
        const results = await runTools(calls, options);
        for (const result of results) turn.steps.push(messageOf(result));
        yield { text: '', reasoning: '', parts: [], token: undefined, results };
      }
    } finally {
      if (turn) this.#keep(turn);
      this.#isAnswering = false;
    }
  }

  /** The next answer; a call that is forced is forced once. */
  #step({ before, question, steps }: Turn, step: number, options: SessionChatOptions): ChatStream {
    const { tools = [], maxSteps: _steps, toolChoice, ...rest } = options;
    checkTools(tools);
    const isForced = toolChoice !== undefined && toolChoice !== 'none' && step > 0;
    const choice = isForced ? ('auto' as const) : toolChoice;
    const system = this.#system === undefined ? [] : [{ role: 'system', content: this.#system } as const];
    const asked = question === undefined ? [] : [question];
    const definitions = tools.map(({ definition }) => definition);
    return this.#model.chat([...system, ...before, ...asked, ...steps], {
      ...rest,
      ...(definitions.length > 0 && { tools: definitions }),
      ...(choice !== undefined && { toolChoice: choice }),
    });
  }

  /** A turn joins the conversation if it ends with what the model has said. */
  #keep({ before, question, steps }: Turn): void {
    const last = steps.at(-1);
    if (last?.role !== 'assistant' || last.tool_calls?.length) return;
    this.#messages = [...before, ...(question === undefined ? [] : [question]), ...steps];
  }

  #lastQuestion(): number {
    const at = this.#messages.findLastIndex(({ role }) => role === 'user');
    if (at < 0)
      fail('INVALID_ARGUMENT', { name: 'messages', found: 'none of the user', expected: 'a question' });
    return at;
  }

  #requireIdle(): void {
    if (this.#isAnswering) fail('SESSION_BUSY', {});
  }
}

/** An answer of a session as it is generated, over all its steps; `end` says how the last of them ended. */
export class SessionStream<T = unknown> extends TextStream<SessionChunk, T> {
  /** What was said before a call is not part of the answer. @internal */
  protected override async gather(): Promise<string> {
    let text = '';
    for await (const chunk of this) text = chunk.results.length > 0 ? '' : text + chunk.text;
    return text;
  }
}

/** Passes an answer on; it joins the turn, and so does the text that was heard of one that is left early. */
async function* heard(stream: ChatStream, turn: Turn): AsyncGenerator<SessionChunk, AnswerMessage> {
  const answer = new AnswerCollector();
  let isWhole = false;
  try {
    for await (const chunk of stream) {
      for (const part of chunk.parts) answer.add(part);
      yield { ...chunk, results: [] };
    }
    isWhole = true;
  } finally {
    const { tool_calls: _, incomplete_tool_calls: __, ...said } = answer.message();
    if (!isWhole && said.content !== '') turn.steps.push(said);
  }
  const message = answer.message(stream.idLength);
  turn.steps.push(message);
  return message;
}

/** Runs the functions at the same time. Rejects with the first failure. */
async function runTools(
  calls: NonNullable<AnswerMessage['tool_calls']>,
  { tools = [], signal: outer }: SessionChatOptions,
): Promise<ToolResult[]> {
  const ending = new AbortController();
  const signal = outer ? AbortSignal.any([outer, ending.signal]) : ending.signal;
  const run = async ({ id, function: { name, arguments: written } }: (typeof calls)[number]) => {
    const called = tools.find((tool) => tool.name === name);
    const unknown = { error: `there is no ${name}` };
    return {
      id,
      name,
      arguments: written,
      result: called ? await called.call(written, { id, signal }) : unknown,
    };
  };
  try {
    return await Promise.all(calls.map(run));
  } catch (error) {
    // The others need not go on.
    ending.abort();
    throw error;
  }
}

function messageOf({ id, name, result }: ToolResult): ChatMessage {
  const content = typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null');
  return { role: 'tool', tool_call_id: id, name, content };
}

/** Throws `INVALID_ARGUMENT`. */
function stepsOf({ maxSteps = DEFAULT_MAX_STEPS }: SessionChatOptions<unknown>): number {
  if (Number.isSafeInteger(maxSteps) && maxSteps >= 1 && maxSteps <= MOST_STEPS) return maxSteps;
  const expected = `a whole number from 1 to ${MOST_STEPS}`;
  return fail('INVALID_ARGUMENT', { name: 'maxSteps', found: `${maxSteps}`, expected });
}

/** Throws `INVALID_ARGUMENT` for what is no list of tools, and for two of one name: a call could not say which it means. */
function checkTools(tools: readonly Tool[] | undefined): void {
  if (tools === undefined) return;
  const expected = 'a list of what `tool` returned';
  if (!Array.isArray(tools) || !tools.every((one) => typeof one?.call === 'function')) {
    fail('INVALID_ARGUMENT', { name: 'tools', found: describeValue(tools), expected });
  }
  const names = tools.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice === undefined) return;
  fail('INVALID_ARGUMENT', { name: 'tools', found: `${twice} twice`, expected: 'tools of different names' });
}
