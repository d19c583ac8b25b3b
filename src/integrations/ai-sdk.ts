/** `rocmforge/ai-sdk`: models in this process for Vercel's AI SDK, without a server between. */
import type {
  EmbeddingModelV3,
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3Message,
  LanguageModelV3StreamPart,
  LanguageModelV3ToolResultOutput,
  LanguageModelV3ToolResultPart,
  LanguageModelV3Usage,
  SharedV3Warning,
} from '@ai-sdk/provider';
import { fail } from '../base/errors.ts';
import { checkModel } from '../engine/call-arguments.ts';
import type { ChatStream } from '../engine/chat-stream.ts';
import type { ChatOptions } from '../engine/generate-options.ts';
import type { TextModel } from '../engine/text-model.ts';
import type { TextEnd } from '../engine/text-stream.ts';
import { type AnswerPart, type ChatMessage, type ChatTool, newCallId } from '../text/index.ts';

/** The name under which `providerOptions` has further options of `TextModel.chat`. */
const PROVIDER = 'rocmforge';

/**
 * An open model as a language model of the AI SDK (specification v3): `generateText({ model: languageModel(model), prompt })`. The
 * model stays the caller's. `providerOptions.rocmforge` may have further options of `chat`; files are refused with
 * `MEDIA_UNSUPPORTED`. Throws `INVALID_ARGUMENT` for what is no model.
 */
export function languageModel(model: TextModel): LanguageModelV3 {
  checkModel(model);
  const begin = (options: LanguageModelV3CallOptions) => {
    const warnings: SharedV3Warning[] = [];
    const stream = model.chat(options.prompt.flatMap(messagesOf), chatOptionsOf(options, warnings));
    return { warnings, parts: partsOf(stream) };
  };
  return {
    specificationVersion: 'v3',
    provider: PROVIDER,
    modelId: model.id,
    supportedUrls: {},
    async doGenerate(options) {
      const { warnings, parts } = begin(options);
      const content = new Map<string, LanguageModelV3Content>();
      for await (const part of parts) {
        if (part.type === 'finish') {
          const { finishReason, usage } = part;
          return { content: [...content.values()], finishReason, usage, warnings };
        }
        gather(content, part);
      }
      return fail('INTERNAL', { what: 'an answer ends with its reason' });
    },
    async doStream(options) {
      const { warnings, parts } = begin(options);
      return { stream: readable(parts, { type: 'stream-start', warnings }) };
    },
  };
}

/** An open embedding model as one of the AI SDK: `embedMany({ model: embeddingModel(model), values })`. */
export function embeddingModel(model: TextModel): EmbeddingModelV3 {
  return {
    specificationVersion: 'v3',
    provider: PROVIDER,
    modelId: model.id,
    maxEmbeddingsPerCall: undefined,
    supportsParallelCalls: false,
    async doEmbed({ values, abortSignal, providerOptions }) {
      const embeddings: number[][] = [];
      let tokens = 0;
      for (const value of values) {
        const own = providerOptions?.[PROVIDER] ?? {};
        const { vector, tokens: read } = await model.embed(value, { ...own, signal: abortSignal });
        embeddings.push([...vector]);
        tokens += read;
      }
      return { embeddings, usage: { tokens }, warnings: [] };
    },
  };
}

/** Headers are for providers that are reached over HTTP. */
function chatOptionsOf(options: LanguageModelV3CallOptions, warnings: SharedV3Warning[]): ChatOptions {
  const { responseFormat: format, toolChoice: choice, tools = [], stopSequences: stop } = options;
  const { temperature, topP, topK, presencePenalty, frequencyPenalty, seed, maxOutputTokens } = options;
  const refused = (feature: string) => warnings.push({ type: 'unsupported', feature });
  if (options.includeRawChunks) refused('includeRawChunks');
  const functions = tools.flatMap((tool): ChatTool[] => {
    if (tool.type === 'provider') refused(`provider tool ${tool.id}`);
    if (tool.type === 'provider') return [];
    const { name, description, inputSchema, strict } = tool;
    const parameters = inputSchema as Record<string, unknown>;
    return [
      {
        type: 'function',
        function: {
          name,
          parameters,
          ...(description !== undefined && { description }),
          ...(strict !== undefined && { strict }),
        },
      },
    ];
  });
  const isJson = format?.type === 'json';
  const given = {
    temperature,
    topP,
    topK,
    presencePenalty,
    frequencyPenalty,
    seed,
    maxTokens: maxOutputTokens,
  };
  return {
    ...(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as ChatOptions),
    signal: options.abortSignal,
    ...(stop && { stop }),
    ...(isJson && (format.schema === undefined ? { json: true } : { schema: format.schema })),
    ...(functions.length > 0 && { tools: functions }),
    ...(choice && { toolChoice: choice.type === 'tool' ? { name: choice.toolName } : choice.type }),
    ...(options.providerOptions?.[PROVIDER] as ChatOptions | undefined),
  };
}

function messagesOf(message: LanguageModelV3Message): ChatMessage[] {
  if (message.role === 'system') return [{ role: 'system', content: message.content }];
  if (message.role === 'tool') {
    return message.content.map((part) => {
      if (part.type === 'tool-result') return resultOf(part);
      return unsupported(part.type);
    });
  }
  let text = '';
  let reasoning = '';
  const calls: NonNullable<ChatMessage['tool_calls']>[number][] = [];
  for (const part of message.content) {
    if (part.type === 'text') text += part.text;
    else if (part.type === 'reasoning') reasoning += part.text;
    else if (part.type === 'tool-call') {
      const input = typeof part.input === 'string' ? part.input : JSON.stringify(part.input);
      const of = { name: part.toolName, arguments: input };
      calls.push({ id: part.toolCallId, type: 'function', function: of });
    } else if (part.type === 'file') fail('MEDIA_UNSUPPORTED', { where: 'prompt', type: part.mediaType });
    else unsupported(part.type);
  }
  return [
    {
      role: message.role,
      content: text,
      ...(reasoning !== '' && { reasoning_content: reasoning }),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
  ];
}

function unsupported(type: string): never {
  const expected = 'text, reasoning, calls and their results';
  return fail('INVALID_ARGUMENT', { name: 'prompt', found: `a part of type ${type}`, expected });
}

function resultOf({ toolCallId, toolName, output }: LanguageModelV3ToolResultPart): ChatMessage {
  return { role: 'tool', tool_call_id: toolCallId, name: toolName, content: outputText(output) };
}

function outputText(output: LanguageModelV3ToolResultOutput): string {
  if (output.type === 'text' || output.type === 'error-text') return output.value;
  if (output.type === 'execution-denied') return output.reason ?? 'The call was not allowed.';
  if (output.type !== 'content') return JSON.stringify(output.value);
  const texts = output.value.map((part) => {
    return part.type === 'text' ? part.text : fail('MEDIA_UNSUPPORTED', { where: 'prompt', type: part.type });
  });
  return texts.join('');
}

/** The parts of an answer in the SDK's form: each text and reasoning between its start and its end. */
async function* partsOf(stream: ChatStream): AsyncGenerator<LanguageModelV3StreamPart, void> {
  let open: { readonly kind: 'text' | 'reasoning'; readonly id: string } | undefined;
  let count = 0;
  const calls: { readonly id: string; readonly name: string; input: string }[] = [];
  let whole = 0;
  const close = function* (): Generator<LanguageModelV3StreamPart> {
    if (open) yield { type: `${open.kind}-end`, id: open.id };
    open = undefined;
  };
  for await (const { parts } of stream) {
    for (const part of parts) {
      if (part.kind === 'text' || part.kind === 'reasoning') {
        if (part.text === '') continue;
        if (open?.kind !== part.kind) {
          yield* close();
          open = { kind: part.kind, id: String(count++) };
          yield { type: `${part.kind}-start`, id: open.id };
        }
        yield { type: `${part.kind}-delta`, id: open.id, delta: part.text };
        continue;
      }
      yield* close();
      if (part.kind === 'call') {
        const call = { id: part.id ?? newCallId(stream.idLength), name: part.name, input: '' };
        calls[part.call] = call;
        yield { type: 'tool-input-start', id: call.id, toolName: call.name };
      } else if (part.kind !== 'fault') {
        const call = calls[part.call] as (typeof calls)[number];
        yield* callParts(part, call);
        if (part.kind === 'end' && part.outcome === 'whole') whole++;
      }
    }
  }
  yield* close();
  yield { type: 'finish', finishReason: finishOf(stream.end, whole > 0), usage: usageOf(stream.end) };
}

/** A call that is not whole has an input, but is none that could be executed. */
function* callParts(
  part: Extract<AnswerPart, { readonly kind: 'arguments' | 'end' }>,
  call: { readonly id: string; readonly name: string; input: string },
): Generator<LanguageModelV3StreamPart> {
  const { id, name: toolName } = call;
  if (part.kind === 'arguments') {
    call.input += part.text;
    yield { type: 'tool-input-delta', id, delta: part.text };
    return;
  }
  yield { type: 'tool-input-end', id };
  if (part.outcome === 'whole') yield { type: 'tool-call', toolCallId: id, toolName, input: call.input };
}

function gather(content: Map<string, LanguageModelV3Content>, part: LanguageModelV3StreamPart): void {
  if (part.type === 'tool-call') content.set(`call ${part.toolCallId}`, part);
  if (part.type !== 'text-delta' && part.type !== 'reasoning-delta') return;
  const type = part.type === 'text-delta' ? 'text' : 'reasoning';
  const before = content.get(part.id);
  const text = before && 'text' in before ? before.text : '';
  content.set(part.id, { type, text: text + part.delta });
}

function finishOf({ reason }: TextEnd, called: boolean): LanguageModelV3FinishReason {
  return { unified: called ? 'tool-calls' : reason, raw: reason };
}

function usageOf({
  promptTokens: prompt,
  cachedTokens: cached,
  generatedTokens,
}: TextEnd): LanguageModelV3Usage {
  return {
    inputTokens: { total: prompt, noCache: prompt - cached, cacheRead: cached, cacheWrite: undefined },
    outputTokens: { total: generatedTokens, text: undefined, reasoning: undefined },
  };
}

/** An error of the answer is a part of it; leaving the stream ends the answer. */
function readable(
  parts: AsyncGenerator<LanguageModelV3StreamPart, void>,
  first: LanguageModelV3StreamPart,
): ReadableStream<LanguageModelV3StreamPart> {
  return new ReadableStream<LanguageModelV3StreamPart>({
    start: (controller) => controller.enqueue(first),
    async pull(controller) {
      try {
        const { done, value } = await parts.next();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        controller.enqueue({ type: 'error', error });
        controller.close();
      }
    },
    cancel: async () => {
      await parts.return();
    },
  });
}
