import { AnswerCollector, type AnswerMessage, type AnswerPart } from '../text/index.ts';
import { type TextChunk, type TextSource, TextStream } from './text-stream.ts';

/** A piece of an answer; `text` is the answer alone. */
export interface ChatChunk extends TextChunk {
  /** The model's reasoning. */
  readonly reasoning: string;
  /** Text, reasoning and calls in order; names and arguments as they arrive. */
  readonly parts: readonly AnswerPart[];
}

/** How an answer is collected. */
export interface ChatStreamSetup<T> {
  readonly idLength?: number | undefined;
  /** Gives the JSON value of the text its type. */
  readonly read?: ((value: unknown) => T | Promise<T>) | undefined;
}

/** An answer as it is generated: `text()` is all of it without its reasoning, `message()` everything. */
export class ChatStream<T = unknown> extends TextStream<ChatChunk, T> {
  /** The length of the ids of calls that the model gives none. @internal */
  readonly idLength: number | undefined;
  #message: Promise<AnswerMessage> | undefined;

  constructor(source: TextSource<ChatChunk>, { idLength, read }: ChatStreamSetup<T> = {}) {
    super(source, read);
    this.idLength = idLength;
  }

  /**
   * The whole answer as a message of the conversation: content, reasoning and calls. May be called repeatedly. Rejects
   * with `STREAM_READ` if the chunks are or were read otherwise.
   */
  message(): Promise<AnswerMessage> {
    this.#message ??= this.#collect();
    return this.#message;
  }

  async #collect(): Promise<AnswerMessage> {
    const answer = new AnswerCollector();
    for await (const { parts } of this) for (const part of parts) answer.add(part);
    return answer.message(this.idLength);
  }
}

/** The chunk of these parts. */
export function chunkOf(parts: readonly AnswerPart[], token: TextChunk['token']): ChatChunk {
  let text = '';
  let reasoning = '';
  for (const part of parts) {
    if (part.kind === 'text') text += part.text;
    else if (part.kind === 'reasoning') reasoning += part.text;
  }
  return { text, reasoning, parts, token };
}
