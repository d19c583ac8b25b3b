import type { BrowserChatOptions, BrowserModel } from '../../src/browser/index.ts';
import {
  type AnswerEvent,
  type AnswerRequest,
  type ChatEngine,
  ContextFull,
  NO_SUCH_REASONING,
  PENALTY_WINDOW,
  present,
  reasonedAnswer,
  ReasoningRefused,
  type ReasoningWish,
} from './engine.ts';
import { noteSpeed } from './speed-guess.ts';

/** For models as small as run in browsers, which repeat themselves otherwise. */
const SMALL_MODELS = { temperature: 0.7, topP: 0.9, repeatPenalty: 1.1 };

/** Answers of so many tokens tell how fast the device is. */
const TELLING_TOKENS = 16;

/** A model in this browser, which stays its owner's. */
export class BrowserEngine implements ChatEngine {
  readonly place = 'browser';
  readonly title: string;
  readonly device: string;
  readonly context: number;
  readonly #model: BrowserModel;
  readonly #refused = new Set<ReasoningWish>();

  constructor(title: string, model: BrowserModel) {
    this.title = title;
    this.context = model.context;
    this.device = model.device.info.backend === 'webgpu' ? 'WebGPU' : 'CPU';
    this.#model = model;
  }

  answer(request: AnswerRequest): AsyncGenerator<AnswerEvent, void> {
    return reasonedAnswer(request.reasoning, this.#refused, (wish) => this.#ask(request, wish));
  }

  async *#ask(
    { messages, continues, sampling, tools, signal }: AnswerRequest,
    reasoning: ReasoningWish | undefined,
  ): AsyncGenerator<AnswerEvent, void> {
    const options: BrowserChatOptions = {
      ...SMALL_MODELS,
      penaltyWindow: PENALTY_WINDOW,
      ...present(sampling),
      ...(continues && { continueFinal: true }),
      ...(reasoning && { reasoning }),
      ...(tools.length > 0 && { tools }),
      signal,
    };
    const stream = this.#model.chat(messages, options);
    let first: number | undefined;
    try {
      for await (const { text, reasoning, parts, token } of stream) {
        first ??= performance.now();
        yield { kind: 'piece', text, reasoning, tokens: token ? 1 : 0 };
        for (const part of parts) {
          if (part.kind === 'arguments') yield { kind: 'call', call: part.call, text: part.text };
          else if (part.kind === 'call')
            yield { kind: 'call', call: part.call, name: part.name, id: part.id, text: '' };
        }
      }
    } catch (error) {
      throw knownOf(error) ?? error;
    }
    const { reason, promptTokens, generatedTokens } = stream.end;
    if (first !== undefined) this.#noteSpeed(generatedTokens - 1, (performance.now() - first) / 1000);
    yield { kind: 'end', end: { reason, promptTokens, generatedTokens } };
  }

  /** Short answers tell little. */
  #noteSpeed(tokens: number, seconds: number): void {
    const { byteLength, device } = this.#model;
    if (tokens >= TELLING_TOKENS && seconds > 0) noteSpeed(device.info.backend, byteLength, tokens / seconds);
  }
}

/** The library is loaded when it is needed, so that its errors are told by their code. */
function knownOf(error: unknown): Error | undefined {
  if (!(error instanceof Error && 'code' in error)) return undefined;
  if (error.code === NO_SUCH_REASONING) return new ReasoningRefused(error.message);
  if (error.code !== 'CONTEXT_OVERFLOW') return undefined;
  const { params } = error as unknown as { params: { tokens: number; context: number } };
  const { tokens, context } = params;
  return new ContextFull(tokens, context, { cause: error });
}
