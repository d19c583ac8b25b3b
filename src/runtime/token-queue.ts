/** Where a writer's values go, in order: to a reader of this thread or of another. */
export interface TokenSink<T, E> {
  /** True while so many values wait to be read that the writer should wait, too. */
  readonly isBehind: boolean;
  push(value: T): void;
  /** What comes behind the values. A later end counts instead of an earlier one, but not of a failure. */
  end(value: E): void;
  /** Tells of a failure in place of all that was not read yet. */
  fail(error: unknown): void;
  /** Drops what was not read, and says how many values that were. */
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

  /** The next value, or the end. Rejects with what `fail` was given. */
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
