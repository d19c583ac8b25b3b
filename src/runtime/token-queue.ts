/** Receives a writer's values in order, for a reader on this thread or another. */
export interface TokenSink<T, E> {
  /** True while so many values are unread that the writer should pause. */
  readonly isBehind: boolean;
  push(value: T): void;
  /** Adds the end after the values. A later end replaces an earlier one, but not a failure. */
  end(value: E): void;
  /** Replaces everything unread by a failure. */
  fail(error: unknown): void;
  /** Drops unread values, and returns their number. */
  clear(): number;
}

/** Values from one writer to one reader, in order. The writer never waits; `isBehind` tells it that it should. */
export class TokenQueue<T, E> implements TokenSink<T, E> {
  readonly #values: T[] = [];
  readonly #limit: number;
  #end: { readonly value: E } | { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isBehind(): boolean {
    return this.#values.length >= this.#limit;
  }

  push(value: T): void {
    this.#values.push(value);
    this.#tell();
  }

  end(value: E): void {
    if (!this.#end || 'value' in this.#end) this.#end = { value };
    this.#tell();
  }

  fail(error: unknown): void {
    this.clear();
    this.#end ??= { error };
    this.#tell();
  }

  clear(): number {
    return this.#values.splice(0).length;
  }

  /** The next value, or the end. Rejects with the error passed to `fail`. */
  async read(): Promise<{ readonly value: T } | { readonly end: E }> {
    for (;;) {
      if (this.#values.length > 0) return { value: this.#values.shift() as T };
      const end = this.#end;
      if (end && 'error' in end) throw end.error;
      if (end) return { end: end.value };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #tell(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
