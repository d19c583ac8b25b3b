/** A buffer of a plan: its size, and the stages that use it if the device is a pipeline. */
export interface BufferSize {
  readonly bytes: number;
  readonly stages: readonly number[] | undefined;
}

/** The buffers of a plan by name, each as large as its largest use, and where it is used. */
export class BufferSizes {
  readonly #bytes = new Map<string, number>();
  readonly #stages = new Map<string, Set<number>>();

  /** Adds a use of a buffer with so many bytes. */
  add(name: string, bytes: number, stage: number | undefined): void {
    this.#bytes.set(name, Math.max(bytes, this.#bytes.get(name) ?? 0));
    this.use(name, stage);
  }

  /** Adds a use of a buffer by a stage, if it is one of these. */
  use(name: string, stage: number | undefined): void {
    if (stage === undefined) return;
    const known = this.#stages.get(name) ?? new Set();
    this.#stages.set(name, known.add(stage));
  }

  /** Adds all of another one's. */
  join(other: BufferSizes): void {
    for (const [name, bytes] of other.#bytes) this.add(name, bytes, undefined);
    for (const [name, stages] of other.#stages) for (const stage of stages) this.use(name, stage);
  }

  *[Symbol.iterator](): Generator<[string, BufferSize], void> {
    for (const [name, bytes] of this.#bytes) {
      const stages = this.#stages.get(name);
      yield [name, { bytes, stages: stages && [...stages].sort((a, b) => a - b) }];
    }
  }
}
