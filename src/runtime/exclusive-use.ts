import { fail, invariant, throwIfAborted } from '../base/errors.ts';
import type { SequenceState } from '../state/sequence-state.ts';
import type { DeviceRun } from './device-run.ts';
import { explainFault } from './first-fault.ts';
import {
  type EvaluateOptions,
  FORCED_SLOT,
  type ForcedInput,
  forcedLogits,
  type PositionLogits,
} from './forced-logits.ts';
import { areFinite, restoreSlot, saveSlot, type SequenceSnapshot } from './sequence-snapshot.ts';
import type { Sequence } from './sequence.ts';
import type { SlotPool } from '../state/slot-pool.ts';
import { computeTexts, takeTexts, type WantedText } from './texts-together.ts';

type Run = DeviceRun<Sequence>;

/** What it needs of its engine. */
export interface ExclusiveUseSetup {
  readonly state: SequenceState;
  readonly slots: SlotPool;
  /**
   * Resolves once nobody else uses the device, with the function that releases it. Rejects with `ABORTED` or `DISPOSED`.
   */
  alone(signal: AbortSignal | undefined): Promise<() => void>;
  /** Throws `DISPOSED` if the engine was disposed. */
  check(): void;
  /** Called for each of its own steps. */
  readonly onStep: () => void;
  /** Resolves when no step is in flight. */
  driven(): Promise<void>;
  /** The device, replaced if it was lost. */
  ready(): Promise<Run>;
  /** Drops a lost device. Rejects with the error when the device is not what failed, or was lost too often. */
  survive(run: Run, error: unknown, losses: number): Promise<unknown>;
}

/** Work that needs the device exclusively, while no sequence runs: forced decoding, saving and restoring state. */
export class ExclusiveUse {
  readonly #setup: ExclusiveUseSetup;
  #underWay: Promise<unknown> = Promise.resolve();

  constructor(setup: ExclusiveUseSetup) {
    this.#setup = setup;
  }

  /** Resolves when none of its work is running on the device. Never rejects. */
  async idle(): Promise<void> {
    await this.#underWay.catch(() => {});
  }

  /** Yields the logits at every position from `from` on. */
  async *evaluate({
    adapters: chosen = [],
    ...rest
  }: Omit<ForcedInput, 'adapters'> & Pick<EvaluateOptions, 'adapters'>): AsyncGenerator<PositionLogits> {
    const { slots, state } = this.#setup;
    const leave = await this.#setup.alone(rest.signal);
    try {
      const input = { ...rest, adapters: typeof chosen === 'function' ? chosen() : chosen };
      let next = input.from;
      for (let losses = 0, done = false; !done;) {
        slots.forget();
        const run = await this.#work(() => this.#begin());
        const { plan, stream } = run;
        const rows = forcedLogits({ plan, state, stream }, input, this.#setup.onStep);
        try {
          for (;;) {
            const { value: found, done: isOver } = await this.#work(() => rows.next());
            if (isOver) break;
            if (found.position < next) continue;
            next = found.position + 1;
            losses = 0;
            yield found;
          }
          done = true;
        } catch (error) {
          await this.#survive(run, error, ++losses);
        }
      }
    } finally {
      slots.forget();
      leave();
    }
  }

  /**
   * Takes the next texts from a queue, and computes them together; their errors are their own. Rejects if nobody can use the device.
   */
  async compute(queue: WantedText[], isWhole: boolean): Promise<void> {
    const { slots, state, onStep } = this.#setup;
    const leave = await this.#setup.alone(undefined);
    let texts: WantedText[] = [];
    try {
      await this.#withDevice(async ({ plan, stream }) => {
        slots.forget();
        if (texts.length === 0) texts = takeTexts(queue, { plan, state });
        slots.forget();
        const left = texts.filter(({ isOver }) => !isOver);
        await computeTexts({ plan, state, stream }, left, { isWhole, onStep });
      });
    } catch (error) {
      if (texts.length === 0) throw error;
      for (const text of texts) if (!text.isOver) text.fail(error);
    } finally {
      slots.forget();
      leave();
    }
  }

  /** Computes `ids` and saves the state after them. */
  async save(ids: readonly number[], signal: AbortSignal | undefined): Promise<SequenceSnapshot> {
    const { slots, state } = this.#setup;
    const leave = await this.#setup.alone(signal);
    try {
      return await this.#withDevice(async ({ plan, stream }) => {
        slots.forget();
        // The logits are not needed.
        const input = { ids, from: ids.length, signal };
        for await (const _ of forcedLogits({ plan, state, stream }, input, this.#setup.onStep));
        throwIfAborted(signal, 'saving a state');
        const states = await saveSlot({ plan, state, stream, slot: FORCED_SLOT }, ids.length);
        if (areFinite(plan, states)) return { ids: [...ids], states };
        const last = { ids, first: ids.length - 1, slot: FORCED_SLOT, adapters: [] };
        throw await explainFault({ plan, state, stream }, last);
      });
    } finally {
      slots.forget();
      leave();
    }
  }

  /**
   * Saves what a slot holds once no sequence runs; it keeps its contents. Rejects with `INVALID_ARGUMENT` if it is empty, or the
   * text is not the tenant's that is named.
   */
  async saveHeld(slot: number, signal?: AbortSignal, tenant?: string): Promise<SequenceSnapshot> {
    const { slots, state } = this.#setup;
    const leave = await this.#setup.alone(signal);
    try {
      return await this.#withDevice(async ({ plan, stream }) => {
        const held = slots.idle(slot, tenant);
        invariant(held, 'slots are idle while nobody else runs');
        const { ids, length, lineage } = held;
        if (length === 0) {
          const expected = 'a slot that holds a text';
          fail('INVALID_ARGUMENT', { name: 'slot', found: 'an empty slot', expected });
        }
        state.settle(slot, length);
        plan.states.copySlots(stream, state.takeCopies());
        const states = await saveSlot({ plan, state, stream, slot }, length);
        return { ids: ids.slice(0, length), states, ...(lineage !== undefined && { lineage }) };
      });
    } finally {
      leave();
    }
  }

  /**
   * Changes weights' contents once no sequence runs, and loads them again. What slots hold was computed with the old
   * ones, and is forgotten. Rejects as `change` throws.
   */
  async reload(change: () => void, isChanged: (name: string) => boolean): Promise<void> {
    const leave = await this.#setup.alone(undefined);
    try {
      await this.#begin();
      change();
      this.#setup.slots.forget();
      await this.#withDevice(({ plan }) => plan.reload(isChanged));
    } finally {
      leave();
    }
  }

  /** Evicts what a slot holds, if it is the tenant's that is named, once no sequence runs; resolves with the number of positions. */
  async erase(slot: number, signal?: AbortSignal, tenant?: string): Promise<number> {
    const { slots } = this.#setup;
    const leave = await this.#setup.alone(signal);
    try {
      await this.#begin();
      const length = slots.idle(slot, tenant)?.length ?? 0;
      if (length > 0) slots.erase(slot);
      return length;
    } finally {
      leave();
    }
  }

  /** Puts a saved state into an idle slot, `only` if it is given, as a text of this tenant. */
  async restore({ ids, states, lineage }: SequenceSnapshot, only?: number, tenant?: string): Promise<void> {
    const { slots, state } = this.#setup;
    const leave = await this.#setup.alone(undefined);
    try {
      await this.#withDevice(async ({ plan, stream }) => {
        const taken = slots.take([], [], undefined, only);
        invariant(taken, 'a slot is idle while nobody else runs');
        const { slot } = taken;
        let held: readonly number[] = [];
        try {
          invariant(slots.adopt(slot, ids.length), 'ids within the context have room in the state');
          await restoreSlot({ plan, state, stream, slot }, states, ids.length);
          held = ids;
          // As if it had been computed as a prompt.
          slots.trace(slot).note(0, ids.length, plan.shape.rows);
        } finally {
          slots.give(slot, held, lineage, tenant);
        }
      });
    } finally {
      leave();
    }
  }

  /** Runs work on the device, and repeats it if the device was lost meanwhile. */
  async #withDevice<T>(work: (run: Run) => Promise<T>): Promise<T> {
    for (let losses = 1; ; losses++) {
      const run = await this.#work(() => this.#begin());
      try {
        return await this.#work(() => work(run));
      } catch (error) {
        await this.#survive(run, error, losses);
      }
    }
  }

  /** Drops a lost device; disposing the engine waits for that, too. */
  #survive(run: Run, error: unknown, losses: number): Promise<unknown> {
    const leaving = this.#setup.survive(run, error, losses);
    this.#underWay = leaving;
    return leaving;
  }

  async #begin(): Promise<Run> {
    await this.#setup.driven();
    return this.#setup.ready();
  }

  /** Work that disposing the engine waits for; none starts afterwards. */
  #work<T>(work: () => Promise<T>): Promise<T> {
    this.#setup.check();
    const underWay = work();
    this.#underWay = underWay;
    return underWay;
  }
}
