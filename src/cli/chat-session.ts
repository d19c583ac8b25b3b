import { setImmediate } from 'node:timers/promises';
import type { ChatOptions } from '../engine/generate-options.ts';
import type { LanguageModel } from '../engine/language-model.ts';
import type { TextEnd } from '../engine/text-stream.ts';
import type { ChatMessage } from '../text/index.ts';

/** A conversation with a model: what was said, and how the model continues it. */
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

  /** All messages, the system's first. */
  get messages(): readonly ChatMessage[] {
    if (this.#system === undefined) return [...this.#turns];
    return [{ role: 'system', content: this.#system }, ...this.#turns];
  }

  /** Positions that the conversation may take. */
  get context(): number {
    return this.#model.context;
  }

  /** Forgets the turns, not the system message. */
  reset(): void {
    this.#turns = [];
    this.#model.reset();
  }

  /** Gives the model another system message, or none, and forgets the turns. */
  setSystem(text: string | undefined): void {
    this.#system = text;
    this.reset();
  }

  /**
   * Answers `text`, handing out pieces as they come. What was said of an answer that is cut off stays in the conversation;
   * where nothing was said, the question does not either. Rejects with `ABORTED`, `CONTEXT_OVERFLOW` and others of `chat`.
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
        // A device that computes on this thread would leave no turn for Ctrl-C.
        await setImmediate();
      }
      return stream.end;
    } finally {
      const thought = thoughts === '' ? {} : { reasoning_content: thoughts };
      if (answer !== '') this.#turns.push(question, { role: 'assistant', content: answer, ...thought });
    }
  }
}
