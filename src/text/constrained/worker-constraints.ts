import { throwIfAborted } from '../../base/errors.ts';
import { beforeAbort } from '../../base/before-abort.ts';
import { inTurns } from '../../base/turns.ts';
import type { WorkerHost } from '../../device/index.ts';
import type { ConstrainedVocabulary, ConstraintMaker } from './constraint-maker.ts';
import { ConstraintCalls, type ConstraintLimits, type RemoteText } from './constraint-calls.ts';
import type { TokenConstraint } from './token-constraint.ts';
import { vocabularyTable } from './vocabulary-table.ts';

/**
 * Creates constraints on a worker thread, started on first use and shared by all models: whatever a grammar costs, the
 * calling thread only sends it and reads masks from shared memory. If the worker gets stuck or dies on a request, only
 * that request fails: the worker is replaced, and all other texts continue where they were.
 */
export class WorkerConstraints implements ConstraintMaker, AsyncDisposable {
  readonly #calls: ConstraintCalls;
  readonly #vocabularies = new WeakMap<ConstrainedVocabulary, Promise<number>>();
  #next = 0;

  constructor(host: Pick<WorkerHost, 'start'>, limits?: ConstraintLimits) {
    this.#calls = new ConstraintCalls(host, limits);
  }

  async constrain(
    vocabulary: ConstrainedVocabulary,
    written: string,
    signal?: AbortSignal,
  ): Promise<TokenConstraint> {
    let sent = this.#vocabularies.get(vocabulary);
    if (!sent) {
      sent = this.#send(vocabulary);
      this.#vocabularies.set(vocabulary, sent);
    }
    const id = await beforeAbort(sent, signal, 'the grammar');
    throwIfAborted(signal, 'the grammar');
    const words = Math.ceil(vocabulary.size / 32);
    const mask = new Int32Array(new SharedArrayBuffer(4 * words));
    const cancelled = new Int32Array(new SharedArrayBuffer(4));
    const text = this.#calls.text({ vocabulary: id, written, mask, cancelled });
    try {
      await beforeAbort(this.#calls.open(text), signal, 'the grammar');
      return new WorkerConstraint(this.#calls, text);
    } catch (error) {
      Atomics.store(cancelled, 0, 1);
      this.#calls.close(text);
      throw error;
    }
  }

  forget(vocabulary: ConstrainedVocabulary): void {
    const sent = this.#vocabularies.get(vocabulary);
    this.#vocabularies.delete(vocabulary);
    sent?.then(
      (id) => this.#calls.forget(id),
      () => {},
    );
  }

  /** Ends the worker; pending requests fail. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#calls[Symbol.asyncDispose]();
  }

  async #send({ tokenizer, size }: ConstrainedVocabulary): Promise<number> {
    const table = await inTurns(vocabularyTable(tokenizer, size), 'reading the vocabulary');
    const id = this.#next++;
    this.#calls.send(id, table);
    return id;
  }
}

/** A constraint whose matcher is in the worker. */
class WorkerConstraint implements TokenConstraint {
  readonly #calls: ConstraintCalls;
  readonly #text: RemoteText;
  #isComplete = false;

  constructor(calls: ConstraintCalls, text: RemoteText) {
    this.#calls = calls;
    this.#text = text;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  async fill(mask: Int32Array): Promise<void> {
    this.#isComplete = await this.#calls.fill(this.#text);
    mask.fill(0, this.#text.mask.length);
    mask.set(this.#text.mask);
  }

  accept(id: number): void {
    this.#text.accepted.push(id);
  }

  [Symbol.dispose](): void {
    this.#calls.close(this.#text);
  }
}
