import { packError } from '../base/sent-error.ts';
import type { WorkerPort } from '../device/index.ts';
import type { AnswerMessage, CallEnd } from './messages.ts';

/** Collects the results of calls during an event-loop turn, and sends them as one message at its end. */
export class Outbox {
  readonly #port: Pick<WorkerPort, 'post'>;
  readonly #onFailed: (id: number) => void;
  #values: unknown[] = [];
  #ends: CallEnd[] = [];
  #isDue = false;
  readonly #send = () => this.#flush();

  /** `onFailed` is called for a call that failed because its result cannot be cloned. */
  constructor(port: Pick<WorkerPort, 'post'>, onFailed: (id: number) => void) {
    this.#port = port;
    this.#onFailed = onFailed;
  }

  /** A value of a call. */
  value(id: number, value: unknown): void {
    this.#values.push(id, value);
    this.#due();
  }

  /** The end of a call. */
  end(end: CallEnd): void {
    this.#ends.push(end);
    this.#due();
  }

  #due(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(this.#send);
  }

  #flush(): void {
    const message: AnswerMessage = { values: this.#values, ends: this.#ends };
    this.#values = [];
    this.#ends = [];
    this.#isDue = false;
    try {
      this.#port.post(message);
    } catch {
      this.#sendApart(message);
    }
  }

  /** A result that cannot be cloned fails only its own call. */
  #sendApart({ values, ends }: AnswerMessage): void {
    const failed = new Set<number>();
    const send = (id: number, part: Partial<AnswerMessage>) => {
      if (failed.has(id)) return;
      try {
        this.#port.post({ values: [], ends: [], ...part } satisfies AnswerMessage);
      } catch (error) {
        failed.add(id);
        const end: CallEnd = { kind: 'failed', id, error: packError(error) };
        this.#port.post({ values: [], ends: [end] } satisfies AnswerMessage);
        this.#onFailed(id);
      }
    };
    for (let at = 0; at < values.length; at += 2) {
      send(values[at] as number, { values: values.slice(at, at + 2) });
    }
    for (const end of ends) send(end.id, { ends: [end] });
  }
}
