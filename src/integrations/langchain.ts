/** `rocmforge/langchain`: models in this process for LangChain, without a server between. */
import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import {
  BaseChatModel,
  type BaseChatModelCallOptions,
  type BaseChatModelParams,
  type BindToolsInput,
} from '@langchain/core/language_models/chat_models';
import type { BaseLanguageModelInput } from '@langchain/core/language_models/base';
import { AIMessage, AIMessageChunk, type BaseMessage, ToolMessage } from '@langchain/core/messages';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';
import type { Runnable } from '@langchain/core/runnables';
import { convertToOpenAITool } from '@langchain/core/utils/function_calling';
import { fail } from '../base/errors.ts';
import { checkOptions, type OptionNames } from '../base/options.ts';
import { checkModel } from '../engine/call-arguments.ts';
import type { ChatChunk } from '../engine/chat-stream.ts';
import type { ChatOptions } from '../engine/generate-options.ts';
import type { TextModel } from '../engine/text-model.ts';
import type { TextEnd } from '../engine/text-stream.ts';
import { type AnswerPart, type ChatMessage, type ChatRole, type ChatTool, newCallId } from '../text/index.ts';

/** The options of an answer that LangChain has none of its own for. */
export type RocmforgeOptions = Omit<ChatOptions, 'tools' | 'toolChoice' | 'stop' | 'signal'>;

/** What a chat model is made of. */
export interface ChatRocmforgeFields extends BaseChatModelParams {
  /** An open model, which stays the caller's. */
  readonly model: TextModel;
  /** Options of all answers. Default: the model's. */
  readonly options?: RocmforgeOptions | undefined;
}

const FIELDS: OptionNames<ChatRocmforgeFields> = {
  model: true,
  options: true,
  cache: true,
  callbackManager: true,
  callbacks: true,
  disableStreaming: true,
  maxConcurrency: true,
  maxRetries: true,
  metadata: true,
  onFailedAttempt: true,
  outputVersion: true,
  tags: true,
  verbose: true,
};

/** Options of a call. */
export interface ChatRocmforgeCallOptions extends BaseChatModelCallOptions {
  tools?: BindToolsInput[];
  /** Further options of this answer. */
  options?: RocmforgeOptions;
}

const ROLES: Readonly<Record<string, ChatRole>> = {
  human: 'user',
  ai: 'assistant',
  system: 'system',
  developer: 'developer',
  tool: 'tool',
  function: 'function',
};

/** An open model as a chat model of LangChain: streamed, with tools. */
export class ChatRocmforge extends BaseChatModel<ChatRocmforgeCallOptions> {
  readonly #model: TextModel;
  readonly #options: RocmforgeOptions;

  /** Throws `OPTION_UNKNOWN`, for a temperature that stands beside `options` too, or `INVALID_ARGUMENT`. */
  constructor(of: ChatRocmforgeFields) {
    checkOptions('ChatRocmforge', of, FIELDS);
    const { model, options = {}, ...fields } = of;
    checkModel(model);
    super(fields);
    this.#model = model;
    this.#options = options;
    // LangChain's own offers the schema as a tool, and leaves it to the model whether it is called.
    const requiring = Object.assign(Object.create(this) as this, {
      bindTools: (tools: BindToolsInput[]) => this.bindTools(tools, { tool_choice: 'any' }),
    });
    this.withStructuredOutput = super.withStructuredOutput.bind(
      requiring,
    ) as typeof this.withStructuredOutput;
  }

  _llmType(): string {
    return 'rocmforge';
  }

  override bindTools(
    tools: BindToolsInput[],
    kwargs: Partial<ChatRocmforgeCallOptions> = {},
  ): Runnable<BaseLanguageModelInput, AIMessageChunk, ChatRocmforgeCallOptions> {
    return this.withConfig({ ...kwargs, tools: tools.map((tool) => convertToOpenAITool(tool)) });
  }

  async _generate(
    messages: BaseMessage[],
    options: this['ParsedCallOptions'],
    runManager?: CallbackManagerForLLMRun,
  ): Promise<ChatResult> {
    let whole: ChatGenerationChunk | undefined;
    for await (const chunk of this._streamResponseChunks(messages, options, runManager)) {
      whole = whole ? whole.concat(chunk) : chunk;
    }
    if (whole) settleCalls(whole.message as AIMessageChunk);
    return { generations: whole ? [whole] : [] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this['ParsedCallOptions'],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const stream = this.#model.chat(messages.map(messageOf), this.#chatOptions(options));
    for await (const chunk of stream) {
      const message = chunkMessage(chunk, stream.idLength);
      if (!message) continue;
      const piece = new ChatGenerationChunk({ text: chunk.text, message });
      yield piece;
      await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, {
        chunk: piece,
      });
    }
    yield new ChatGenerationChunk({ text: '', message: endMessage(stream.end, this.#model.id) });
  }

  #chatOptions({
    tools = [],
    tool_choice: choice,
    stop,
    signal,
    options,
  }: this['ParsedCallOptions']): ChatOptions {
    const functions = tools.map((tool) => convertToOpenAITool(tool) as unknown as ChatTool);
    return {
      ...this.#options,
      ...options,
      signal,
      ...(stop && { stop }),
      ...(functions.length > 0 && { tools: functions }),
      ...(choice !== undefined && { toolChoice: choiceOf(choice) }),
    };
  }
}

/** The choice of a tool, in LangChain's words or OpenAI's. */
function choiceOf(
  choice: NonNullable<BaseChatModelCallOptions['tool_choice']>,
): NonNullable<ChatOptions['toolChoice']> {
  if (choice === 'auto' || choice === 'none') return choice;
  if (choice === 'any' || choice === 'required') return 'required';
  if (typeof choice === 'string') return { name: choice };
  const { function: named } = choice as { readonly function?: { readonly name?: unknown } };
  if (typeof named?.name === 'string') return { name: named.name };
  const expected = 'auto, any, none, or the name of a tool';
  return fail('INVALID_ARGUMENT', { name: 'tool_choice', found: JSON.stringify(choice), expected });
}

/** Parts of other kinds than text are refused by the model. */
function messageOf(message: BaseMessage): ChatMessage {
  const type = message.getType();
  const role = ROLES[type];
  if (role === undefined) {
    const expected = Object.keys(ROLES).join(', ');
    return fail('INVALID_ARGUMENT', { name: 'messages', found: `a message of type ${type}`, expected });
  }
  const content = message.content as string | Record<string, unknown>[];
  if (message instanceof ToolMessage) {
    const { tool_call_id, name } = message;
    return { role, content, tool_call_id, ...(name !== undefined && { name }) };
  }
  if (!AIMessage.isInstance(message)) return { role, content };
  const reasoning = message.additional_kwargs['reasoning_content'];
  const calls = (message.tool_calls ?? []).map(({ id, name, args }) => ({
    ...(id !== undefined && { id }),
    type: 'function' as const,
    function: { name, arguments: args as Record<string, unknown> },
  }));
  return {
    role,
    content,
    ...(typeof reasoning === 'string' && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

/** A piece of an answer; undefined where nothing is said yet. */
function chunkMessage(
  { text, reasoning, parts }: ChatChunk,
  idLength: number | undefined,
): AIMessageChunk | undefined {
  const calls = parts.flatMap((part) => callChunks(part, idLength));
  if (text === '' && reasoning === '' && calls.length === 0) return undefined;
  return new AIMessageChunk({
    content: text,
    ...(reasoning !== '' && { additional_kwargs: { reasoning_content: reasoning } }),
    ...(calls.length > 0 && { tool_call_chunks: calls }),
  });
}

function callChunks(part: AnswerPart, idLength: number | undefined) {
  const type = 'tool_call_chunk' as const;
  if (part.kind === 'call') {
    const { name, id = newCallId(idLength), call: index } = part;
    return [{ type, name, id, args: '', index }];
  }
  return part.kind === 'arguments' ? [{ type, args: part.text, index: part.call }] : [];
}

/** LangChain completes the arguments of a call that a limit has cut, which nobody must run then. */
function settleCalls(message: AIMessageChunk): void {
  const cut = message.tool_call_chunks?.find(({ args = '' }) => !isJson(args));
  if (!cut) return;
  const { id = '', name = '', args = '' } = cut;
  const error = 'the arguments are incomplete: the answer ended at a limit';
  message.tool_calls = message.tool_calls?.filter((call) => call.id !== id) ?? [];
  message.invalid_tool_calls = [{ type: 'invalid_tool_call', id, name, args, error }];
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function endMessage(end: TextEnd, model: string): AIMessageChunk {
  const { promptTokens: input_tokens, generatedTokens: output_tokens, cachedTokens: cache_read } = end;
  const message = new AIMessageChunk({
    content: '',
    response_metadata: { model_name: model, finish_reason: end.reason },
  });
  const total_tokens = input_tokens + output_tokens;
  // LangChain's type of this field is empty under `exactOptionalPropertyTypes`.
  const usage_metadata = { input_tokens, output_tokens, total_tokens, input_token_details: { cache_read } };
  return Object.assign(message, { usage_metadata });
}
