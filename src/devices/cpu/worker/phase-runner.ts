import { type ControlBlock, WORD } from '../protocol/control.ts';
import { Barrier } from './barrier.ts';
import type { Chunked, RowCounts } from './chunked.ts';

/**
 * This worker's part in running phases. Each worker takes the next chunk from a shared counter until none is left, so
 * that a slow core does less; workers synchronize between phases. A command starts with `begin` and ends with `finish`.
 */
export class PhaseRunner {
  readonly #control: ControlBlock;
  readonly #barrier: Barrier;
  #dirty = false;

  constructor(
    control: ControlBlock,
    readonly threads: number,
  ) {
    this.#control = control;
    this.#barrier = new Barrier(control.words, threads);
  }

  /** Runs tasks that are independent of each other and depend on all earlier phases. */
  phase(tasks: readonly Chunked[], counts: RowCounts): void {
    let total = 0;
    for (const task of tasks) {
      task.prepare(counts);
      total += task.chunks;
    }
    if (total === 0) return;
    if (this.#dirty) this.#barrier.pass();
    this.#dirty = true;
    const { words } = this.#control;
    for (;;) {
      const chunk = Atomics.add(words, WORD.chunk, 1);
      if (chunk >= total) return;
      runChunk(tasks, chunk);
    }
  }

  /** Ends a command: true in one worker if the host requested a message. */
  finish(sequence: number): boolean {
    this.#dirty = false;
    if (!this.#barrier.arrive()) return false;
    const wanted = this.#control.complete(sequence);
    this.#barrier.release();
    return wanted;
  }
}

function runChunk(tasks: readonly Chunked[], chunk: number): void {
  let left = chunk;
  for (const task of tasks) {
    if (left < task.chunks) {
      task.run(left);
      return;
    }
    left -= task.chunks;
  }
}
