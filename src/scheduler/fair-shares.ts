/** The tenant, request and priority of a sequence. By default a sequence is its own request, with priority 0. */
export interface SchedulingClass {
  /** Lower is earlier, as in vLLM. Default 0. */
  readonly priority?: number | undefined;
  /** The tenant: tenants have equal shares of the slots. Default: one tenant for all sequences that name none. */
  readonly tenant?: string | undefined;
  /** Sequences of one request share its part of the tenant's slots. Default: each sequence is its own request. */
  readonly request?: string | undefined;
  /** The slot that it has to run in, for which it waits. Default: the one that holds most of its prompt. */
  readonly slot?: number | undefined;
}

/** What the shares need to know of a sequence. */
interface Classed {
  readonly scheduling?: SchedulingClass | undefined;
}

/** Counts the slots of each tenant and request, and decides what is fair to waiting sequences. */
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
   * Waiting sequences in order of admission: by priority, then by the number of slots that their tenant has, then by
   * the number that their request has (fewest first); ties keep their order.
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
   * The running sequence that should be preempted for a waiting one: the most recently admitted one that has a lower
   * priority, or whose tenant or request would still have at least as many slots as the waiting one's. Undefined if the
   * shares are fair.
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
 * How many of a step's `rows` each of several prompts gets, given the rows that each has `left`, in order of admission:
 * half go to the first, so that prompts finish one after another, and half are shared by the others equally, so that a
 * short prompt does not wait for long ones. Rows that a prompt does not need go to the others.
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

/** A request belongs to its tenant: two tenants may use the same name. */
function requestOf(sequence: Classed): unknown {
  const { request } = sequence.scheduling ?? {};
  return request === undefined ? sequence : `${tenantOf(sequence)}\n${request}`;
}

function addOne<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
