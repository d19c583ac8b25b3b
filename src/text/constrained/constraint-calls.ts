import { RocmforgeError } from '../../base/errors.ts';
import { unpackError } from '../../base/sent-error.ts';
import type { WorkerHandle, WorkerHost } from '../../device/index.ts';
import type { ConstraintReply, ConstraintRequest, OpenedText } from './constraint-messages.ts';
import type { VocabularyTable } from './vocabulary-table.ts';

/** A text as this side knows it: enough to open it again in another worker. */
export interface RemoteText extends OpenedText {
  /** All tokens so far, and how many of them the worker has received. */
  readonly accepted: number[];
  taken: number;
  /** Whether the worker has it. */
  isOpen: boolean;
  /** Why another worker could not reopen it. */
  failure?: Error | undefined;
}

/** A request that waits for its reply. */
interface Waiting {
  readonly request: Extract<ConstraintRequest, { readonly call: number }>;
  readonly text: RemoteText;
  readonly limitMs: number;
  resolve(isComplete: boolean): void;
  reject(error: Error): void;
}

/**
 * How long a worker may take for one request before it counts as stuck, in milliseconds; read when a request is made.
 */
export interface ConstraintLimits {
  /** For compiling a grammar, which is bounded by itself and by a deadline of 30 s. */
  readonly openMs: number;
  /** For computing a mask, which takes microseconds and is bounded. */
  readonly fillMs: number;
}

const LIMITS: ConstraintLimits = { openMs: 45_000, fillMs: 30_000 };

/** Requests to a worker that serves constraints, which is replaced when it is stuck or dies. */
export class ConstraintCalls implements AsyncDisposable {
  readonly #host: Pick<WorkerHost, 'start'>;
  readonly #limits: ConstraintLimits;
  readonly #tables = new Map<number, VocabularyTable>();
  readonly #texts = new Set<RemoteText>();
  /**
   * In order of arrival, which is the order in which the worker serves them, except for masks that it computes while
   * compiling.
   */
  #waiting: Waiting[] = [];
  #worker: WorkerHandle | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #next = 0;

  constructor(host: Pick<WorkerHost, 'start'>, limits: ConstraintLimits = LIMITS) {
    this.#host = host;
    this.#limits = limits;
  }

  /** A text that has not started. */
  text(of: Pick<OpenedText, 'vocabulary' | 'written' | 'mask' | 'cancelled'>): RemoteText {
    return { ...of, text: this.#next++, accepted: [], taken: 0, isOpen: false };
  }

  /** Registers a vocabulary with the worker. */
  send(vocabulary: number, table: VocabularyTable): void {
    this.#tables.set(vocabulary, table);
    this.#worker?.post({ kind: 'vocabulary', vocabulary, table } satisfies ConstraintRequest);
  }

  /** Unregisters it; its texts continue. */
  forget(vocabulary: number): void {
    this.#tables.delete(vocabulary);
    this.#worker?.post({ kind: 'forget', vocabulary } satisfies ConstraintRequest);
  }

  /**
   * Opens a text. Rejects with the errors of compiling its grammar, and with `GRAMMAR_TOO_COSTLY` if that makes the
   * worker unusable.
   */
  async open(text: RemoteText): Promise<void> {
    this.#texts.add(text);
    await this.#call(text, this.#opening(text), this.#limits.openMs);
    text.isOpen = true;
  }

  /**
   * Writes the allowed next tokens into the text's mask; true if there are none because the text is complete. Rejects
   * as `open`, and with `GRAMMAR_DEAD_END`.
   */
  async fill(text: RemoteText): Promise<boolean> {
    if (text.failure) throw text.failure;
    const accepted = text.accepted.slice(text.taken);
    const count = text.accepted.length;
    const request = { kind: 'fill', call: this.#next++, text: text.text, accepted } as const;
    const isComplete = await this.#call(text, request, this.#limits.fillMs);
    text.taken = count;
    return isComplete;
  }

  /** Closes a text. */
  close(text: RemoteText): void {
    if (!this.#texts.delete(text)) return;
    this.#worker?.post({ kind: 'close', text: text.text } satisfies ConstraintRequest);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    clearTimeout(this.#timer);
    for (const { reject } of this.#waiting.splice(0)) {
      reject(new RocmforgeError('DISPOSED', { what: 'the constraints' }));
    }
    await worker?.terminate();
  }

  #opening(text: RemoteText): Extract<ConstraintRequest, { readonly kind: 'open' }> {
    const { vocabulary, written, mask, cancelled } = text;
    const accepted = text.accepted.slice(0, text.taken);
    return {
      kind: 'open',
      call: this.#next++,
      text: text.text,
      vocabulary,
      written,
      accepted,
      mask,
      cancelled,
    };
  }

  #call(text: RemoteText, request: Waiting['request'], limitMs: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#push({ request, text, limitMs, resolve, reject });
    });
  }

  #push(call: Waiting): void {
    const worker = (this.#worker ??= this.#start());
    this.#waiting.push(call);
    worker.post(call.request);
    if (this.#waiting.length === 1) this.#watch();
  }

  #start(): WorkerHandle {
    const worker = this.#host.start('constraints');
    worker.onMessage((message) => {
      if (worker === this.#worker) this.#take(message as ConstraintReply);
    });
    worker.onFailure(() => {
      if (worker === this.#worker) this.#replace('it takes too much memory');
    });
    for (const [vocabulary, table] of this.#tables) {
      worker.post({ kind: 'vocabulary', vocabulary, table } satisfies ConstraintRequest);
    }
    return worker;
  }

  #take({ call, isComplete, error }: ConstraintReply): void {
    const index = this.#waiting.findIndex(({ request }) => request.call === call);
    const [found] = index < 0 ? [] : this.#waiting.splice(index, 1);
    this.#watch();
    if (error) found?.reject(found.text.failure ?? unpackError(error));
    else found?.resolve(isComplete);
  }

  /** Limits the time of the worker's current request, and keeps the process alive for it. */
  #watch(): void {
    clearTimeout(this.#timer);
    const [first] = this.#waiting;
    this.#worker?.hold(first !== undefined);
    if (first) this.#timer = setTimeout(() => this.#replace('it takes too long'), first.limitMs);
  }

  /** Replaces a worker that is stuck or dead. Its current request fails; everything else moves to another worker. */
  #replace(reason: string): void {
    const [culprit, ...others] = this.#waiting.splice(0);
    clearTimeout(this.#timer);
    void this.#worker?.terminate();
    this.#worker = undefined;
    if (culprit) {
      this.#texts.delete(culprit.text);
      culprit.reject(new RocmforgeError('GRAMMAR_TOO_COSTLY', { what: 'the grammar', reason }));
    }
    for (const text of this.#texts) {
      if (!text.isOpen) continue;
      const reject = (error: Error) => {
        text.failure = error;
      };
      this.#push({
        request: this.#opening(text),
        text,
        limitMs: this.#limits.openMs,
        resolve: () => {},
        reject,
      });
    }
    for (const call of others) if (this.#texts.has(call.text)) this.#push(call);
  }
}
