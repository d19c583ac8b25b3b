/** Whose a sequence is, and how urgent. Where nothing is said, it is a request of its own, with the priority 0. */
export interface SchedulingClass {
  /** The lower, the earlier, as in vLLM. Default 0. */
  readonly priority?: number | undefined;
  /** Who asks: tenants have equal shares of the slots. Default: one for all who say nothing. */
  readonly tenant?: string | undefined;
  /** Sequences of one request share its part of the tenant's slots. Default: each is a request. */
  readonly request?: string | undefined;
}

/** What is asked about a sequence. */
interface Classed {
  readonly scheduling?: SchedulingClass | undefined;
}

/** Who has how many of the slots, and what is fair to those who wait. */
export class SlotShares<S extends Classed> {
  readonly #running: readonly S[];
  readonly #tenants = new Map<string, number>();
  readonly #requests = new Map<unknown, number>();

  constructor(running: readonly S[]) {
    this.#running = running;
    for (const sequence of running) {
      addOne(this.#tenants, tenantOf(sequence));
      addOne(this.#requests, requestOf(sequence));
    }
  }

  /**
   * Those who wait, in the order in which they are to be admitted: the most urgent first, among equals those whose tenant has
   * the fewest slots, then those whose request has; what is still equal keeps its order.
   */
  order(waiting: readonly S[]): readonly S[] {
    if (waiting.every(({ scheduling }) => scheduling === undefined)) return waiting;
    const ranked = waiting.map((sequence) => ({
      sequence,
      priority: priorityOf(sequence),
      tenant: this.#ofTenant(sequence),
      request: this.#ofRequest(sequence),
    }));
    ranked.sort((a, b) => a.priority - b.priority || a.tenant - b.tenant || a.request - b.request);
    return ranked.map(({ sequence }) => sequence);
  }

  /**
   * The running sequence that is to leave its slot to one that waits: the latest that is less urgent, or whose tenant or
   * request would have as many slots as the other's even then. Undefined where everybody has a fair share.
   */
  preemptedFor(waits: S): S | undefined {
    return this.#running.findLast((runs) => {
      if (priorityOf(runs) !== priorityOf(waits)) return priorityOf(runs) > priorityOf(waits);
      if (tenantOf(runs) !== tenantOf(waits)) return this.#ofTenant(runs) > this.#ofTenant(waits) + 1;
      return this.#ofRequest(runs) > this.#ofRequest(waits) + 1;
    });
  }

  #ofTenant(sequence: S): number {
    return this.#tenants.get(tenantOf(sequence)) ?? 0;
  }

  #ofRequest(sequence: S): number {
    return this.#requests.get(requestOf(sequence)) ?? 0;
  }
}

/**
 * How many of a step's `rows` each of several prompts gets, of which so many rows are left, in the order of admission: half is
 * for the first, so that one after the other is done, and the other half for all others alike, so that a short prompt does not
 * wait until long ones are read. What somebody does not need is for the others.
 */
export function promptShares(left: readonly number[], rows: number): number[] {
  const [first = 0, ...others] = left;
  const wanted = others.reduce((sum, of) => sum + of, 0);
  const ofFirst = Math.min(first, Math.max(Math.ceil(rows / 2), rows - wanted));
  const shares = [ofFirst];
  const byLength = [...others.keys()].sort((a, b) => (others[a] as number) - (others[b] as number));
  let rest = rows - ofFirst;
  for (const [done, index] of byLength.entries()) {
    const share = Math.min(others[index] as number, Math.ceil(rest / (byLength.length - done)));
    shares[1 + index] = share;
    rest -= share;
  }
  return shares;
}

function priorityOf({ scheduling }: Classed): number {
  return scheduling?.priority ?? 0;
}

function tenantOf({ scheduling }: Classed): string {
  return scheduling?.tenant ?? '';
}

/** A request is its tenant's: two tenants may use one name. */
function requestOf(sequence: Classed): unknown {
  const { request } = sequence.scheduling ?? {};
  return request === undefined ? sequence : `${tenantOf(sequence)}\n${request}`;
}

function addOne<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
