import type { Pace } from './chat-store.ts';

/** The shortest time that a speed is measured over. */
const SPEED_MILLISECONDS = 100;

/** Measures the speed of an answer. */
export class Meter {
  readonly #begin = performance.now();
  #tokens = 0;
  #first = 0;
  #last = 0;
  #firstThought: number | undefined;
  /** From the first piece of reasoning to the first of the answer. */
  reasoningSeconds: number | undefined;

  take({ tokens, text, reasoning }: { tokens: number; text: string; reasoning: string }): void {
    const now = performance.now();
    if (this.#tokens === 0 && tokens > 0) this.#first = now;
    this.#tokens += tokens;
    this.#last = now;
    if (reasoning !== '') this.#firstThought ??= now;
    if (text !== '' && this.#firstThought !== undefined)
      this.reasoningSeconds ??= (now - this.#firstThought) / 1000;
  }

  get pace(): Pace | undefined {
    const tokens = this.#tokens;
    const span = this.#last - this.#first;
    return {
      tokens,
      firstSeconds: tokens > 0 ? (this.#first - this.#begin) / 1000 : undefined,
      // Tokens that arrive together say nothing of the speed at which they were made.
      tokensPerSecond: span >= SPEED_MILLISECONDS ? ((tokens - 1) / span) * 1000 : undefined,
    };
  }
}
