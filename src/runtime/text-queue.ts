import { beforeAbort } from '../base/before-abort.ts';
import type { PositionLogits } from './forced-logits.ts';
import type { WantedText } from './texts-together.ts';

/** What is wanted of a text. */
export type TextRequest = Pick<WantedText, 'ids' | 'from' | 'adapters' | 'take'> & {
  /** Aborts with `ABORTED`. */
  readonly signal: AbortSignal | undefined;
};

/** A text in the queue. */
class QueuedText implements WantedText {
  readonly ids: readonly number[];
  readonly from: number;
  readonly adapters: WantedText['adapters'];
  readonly ended: Promise<void>;
  readonly #take: (row: PositionLogits) => void;
  #isOver = false;
  #resolve: () => void = () => {};
  #reject: (error: unknown) => void = () => {};

  constructor({ ids, from, adapters, take }: Omit<TextRequest, 'signal'>) {
    this.ids = ids;
    this.from = from;
    this.adapters = adapters;
    this.#take = take;
    this.ended = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  take(row: PositionLogits): void {
    this.#take(row);
  }

  done(): void {
    this.leave();
    this.#resolve();
  }

  fail(error: unknown): void {
    this.leave();
    this.#reject(error);
  }

  /** Nobody waits for it any more. */
  leave(): void {
    this.#isOver = true;
  }
}

/** The texts that a model that embeds or ranks has to compute, in order of arrival; those that wait together are computed together. */
export class TextQueue {
  readonly #waiting: QueuedText[] = [];
  readonly #computeNext: (queue: WantedText[]) => Promise<void>;
  #isDriving = false;

  /** `computeNext` takes the next texts from the queue once it may and computes them; it rejects if it cannot take any. */
  constructor(computeNext: (queue: WantedText[]) => Promise<void>) {
    this.#computeNext = computeNext;
  }

  /** Resolves when all rows of a text were taken. Rejects with `ABORTED` as soon as the signal fires. */
  async compute({ signal, ...request }: TextRequest): Promise<void> {
    const text = new QueuedText(request);
    this.#waiting.push(text);
    void this.#drive();
    try {
      await beforeAbort(text.ended, signal, 'evaluation');
    } finally {
      text.leave();
    }
  }

  async #drive(): Promise<void> {
    if (this.#isDriving) return;
    this.#isDriving = true;
    try {
      while (this.#waiting.length > 0) await this.#computeNext(this.#waiting);
    } catch (error) {
      for (const text of this.#waiting.splice(0)) text.fail(error);
    } finally {
      this.#isDriving = false;
    }
  }
}
