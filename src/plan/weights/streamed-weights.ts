import { invariant } from '../../base/errors.ts';
import type { DeviceEvent } from '../../device/index.ts';
import type { PartWeights } from './part-weights.ts';

/**
 * A slot of device memory through which the weights of several parts are streamed, in execution order. Before a part's
 * weights are overwritten, the device waits for the work that reads them; the host never does.
 */
export class StreamedWeights {
  readonly #users: readonly PartWeights[];
  #occupant: PartWeights | undefined;
  /** Events that the device waits for before the slot is overwritten. */
  #lastUse: readonly DeviceEvent[] = [];

  constructor(users: readonly PartWeights[]) {
    this.#users = users;
  }

  /**
   * Loads a part's weights into the slot unless they are there or loading; resolves with the events after which they
   * are complete.
   */
  async admit(part: PartWeights): Promise<readonly DeviceEvent[]> {
    if (this.#occupant !== part) await this.#vacate();
    this.#occupant = part;
    part.request({ after: this.#lastUse });
    return part.queued();
  }

  /** The part's work was queued, before `event`: requests the next part of the slot. */
  used(part: PartWeights, event: DeviceEvent): void {
    invariant(this.#occupant === part, 'a part that is used was admitted');
    this.#lastUse = [event];
    const next = this.#users[(this.#users.indexOf(part) + 1) % this.#users.length] as PartWeights;
    if (next === part) return;
    part.evict();
    this.#occupant = next;
    next.request({ after: this.#lastUse });
  }

  /** Vacates the slot of another part that an aborted pass left there, after its pending writes are complete. */
  async #vacate(): Promise<void> {
    const part = this.#occupant;
    if (!part) return;
    const written = await Promise.allSettled(part.tensors.map((tensor) => tensor.queued()));
    const events = written.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    this.#lastUse = [...this.#lastUse, ...events];
    part.evict();
  }
}
