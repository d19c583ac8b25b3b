/** A number of things that are taken and given back; whoever finds none waits in line, and nobody overtakes. */
export class AsyncPool<T> {
  readonly #free: T[];
  readonly #waiting: ((thing: T) => void)[] = [];

  constructor(things: readonly T[]) {
    this.#free = [...things];
  }

  /** One of them, the first of the list before the others. */
  take(): Promise<T> {
    const thing = this.#free.shift();
    return thing === undefined
      ? new Promise((resolve) => this.#waiting.push(resolve))
      : Promise.resolve(thing);
  }

  give(thing: T): void {
    const next = this.#waiting.shift();
    if (next) next(thing);
    else this.#free.push(thing);
  }
}

/** The numbers 0 to `count` - 1, for lanes of which only so many are used at once. */
export function lanes(count: number): AsyncPool<number> {
  return new AsyncPool(Array.from({ length: count }, (_, lane) => lane));
}
