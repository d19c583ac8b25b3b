import assert from 'node:assert/strict';
import { KV_BLOCK_SIZE, type SizedGroup } from '../../src/model/state-groups.ts';
import type { SequenceState } from '../../src/state/sequence-state.ts';

/** The history of a slot's values: everything that was written, in order. */
type History = readonly number[];

/**
 * The memory that a state's allocators manage, as on a device: cells by block, values by slot with their checkpoints.
 * It reads what a model's rows would read, and detects when that is not what was written.
 */
export class StateMemory {
  readonly #cells: Map<number, number>[];
  readonly #values: History[];
  readonly #checkpoints: History[];

  constructor(
    readonly state: SequenceState,
    readonly groups: readonly SizedGroup[],
    slots: number,
  ) {
    this.#cells = groups.map(() => new Map());
    this.#values = Array.from({ length: slots }, () => []);
    this.#checkpoints = Array.from({ length: slots }, () => []);
  }

  /** Performs the copies that planned steps require. */
  copy(): void {
    for (const { slot, does } of this.state.takeCopies()) {
      if (does === 'save') this.#checkpoints[slot] = this.#values[slot] as History;
      else this.#values[slot] = this.#checkpoints[slot] as History;
    }
  }

  /**
   * Computes the rows from `first` to the end of `history`, which is what they must find before them and leave behind.
   */
  compute(slot: number, first: number, history: History): void {
    for (const [index, group] of this.groups.entries()) {
      if (group.kind === 'slots') this.#step(slot, first, history);
      else this.#append(index, { slot, first, history });
    }
  }

  /** All contents are lost. */
  lose(): void {
    for (const cells of this.#cells) cells.clear();
    this.#values.fill([]);
    this.#checkpoints.fill([]);
  }

  #step(slot: number, first: number, history: History): void {
    const before = first === 0 ? [] : (this.#values[slot] as History);
    assert.deepEqual(before, history.slice(0, first), 'the values have seen what came before');
    this.#values[slot] = [...history];
  }

  #append(index: number, { slot, first, history }: { slot: number; first: number; history: History }): void {
    const group = this.groups[index];
    const cells = this.#cells[index];
    assert.ok(cells);
    for (let position = first; position < history.length; position++) {
      cells.set(this.#cellOf(index, slot, position), history[position] as number);
    }
    // What the first row attends to, and every row after it, when the last one is written.
    const window = group?.kind === 'windowed' ? group.window : Number.POSITIVE_INFINITY;
    for (let seen = Math.max(0, first - window + 1); seen < history.length; seen++) {
      const found: number | undefined = cells.get(this.#cellOf(index, slot, seen));
      if (found !== history[seen]) assert.fail(`position ${seen} holds ${found}, not ${history[seen]}`);
    }
  }

  #cellOf(index: number, slot: number, position: number): number {
    const table = this.state.groups[index]?.table;
    assert.ok(table);
    const block = table.get(slot, Math.floor(position / KV_BLOCK_SIZE));
    return block * KV_BLOCK_SIZE + (position % KV_BLOCK_SIZE);
  }
}
