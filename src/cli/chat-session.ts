import { setImmediate } from 'node:timers/promises';
import type { ChatOptions } from '../engine/generate-options.ts';
import type { LanguageModel } from '../engine/language-model.ts';
import type { TextEnd } from '../engine/text-stream.ts';
import type { ChatMessage } from '../text/index.ts';

/** A conversation with a model. */
export class ChatSession {
  readonly #model: LanguageModel;
  readonly #options: ChatOptions;
  #turns: ChatMessage[] = [];
  #system: string | undefined;

  constructor(model: LanguageModel, options: ChatOptions, system?: string) {
    this.#model = model;
    this.#options = options;
    this.#system = system;
  }

  /** All messages, the system message first. */
  get messages(): readonly ChatMessage[] {
    if (this.#system === undefined) return [...this.#turns];
    return [{ role: 'system', content: this.#system }, ...this.#turns];
  }

  /** The context size in positions. */
  get context(): number {
    return this.#model.context;
  }

  /** Clears the conversation except for the system message. */
  reset(): void {
    this.#turns = [];
    this.#model.reset();
  }

  /** Sets another system message, or none, and clears the conversation. */
  setSystem(text: string | undefined): void {
    this.#system = text;
    this.reset();
  }

  /**
   * Answers `text`, emitting pieces as they come. The part of an interrupted answer stays in the conversation; if there
   * is none, the question does not either. Rejects with `ABORTED`, `CONTEXT_OVERFLOW` and other errors of `chat`.
   */
  async say(
    text: string,
    hear: (piece: string, reasoning: string) => Promise<void>,
    signal: AbortSignal,
  ): Promise<TextEnd> {
    const question: ChatMessage = { role: 'user', content: text };
    let answer = '';
    let thoughts = '';
    try {
      const stream = this.#model.chat([...this.messages, question], { ...this.#options, signal });
      for await (const { text: piece, reasoning } of stream) {
        answer += piece;
        thoughts += reasoning;
        if (piece !== '' || reasoning !== '') await hear(piece, reasoning);
        // A device that computes on this thread would not let the event loop handle Ctrl-C.
        await setImmediate();
      }
      return stream.end;
    } finally {
      const thought = thoughts === '' ? {} : { reasoning_content: thoughts };
      if (answer !== '') this.#turns.push(question, { role: 'assistant', content: answer, ...thought });
    }
  }
}
