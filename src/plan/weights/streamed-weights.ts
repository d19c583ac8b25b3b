import { invariant } from '../../base/errors.ts';
import type { DeviceEvent } from '../../device/index.ts';
import type { PartWeights } from './part-weights.ts';

/**
 * A slot of device memory through which the weights of several parts are streamed, in the order of running. Before a part's
 * weights are overwritten, the device itself waits for the work that reads them; the host never does.
 */
export class StreamedWeights {
  readonly #users: readonly PartWeights[];
  #occupant: PartWeights | undefined;
  /** Events that the device waits for before the slot is overwritten. */
  #lastUse: readonly DeviceEvent[] = [];

  constructor(users: readonly PartWeights[]) {
    this.#users = users;
  }

  /** Loads a part's weights into the slot unless they are there or coming; resolves with the events behind which they are. */
  async admit(part: PartWeights): Promise<readonly DeviceEvent[]> {
    if (this.#occupant !== part) await this.#vacate();
    this.#occupant = part;
    part.request({ after: this.#lastUse });
    return part.queued();
  }

  /** The part's work is queued, before `event`: requests the next part of the slot. */
  used(part: PartWeights, event: DeviceEvent): void {
    invariant(this.#occupant === part, 'a part that is used was admitted');
    this.#lastUse = [event];
    const next = this.#users[(this.#users.indexOf(part) + 1) % this.#users.length] as PartWeights;
    if (next === part) return;
    part.evict();
    this.#occupant = next;
    next.request({ after: this.#lastUse });
  }

  /** Empties the slot of another part, which an aborted pass left there: what it was writing has to be complete first. */
  async #vacate(): Promise<void> {
    const part = this.#occupant;
    if (!part) return;
    const written = await Promise.allSettled(part.tensors.map((tensor) => tensor.queued()));
    const events = written.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    this.#lastUse = [...this.#lastUse, ...events];
    part.evict();
  }
}
