/** The order of members: chains keep theirs, and free names come anywhere. */
export interface MemberOrder {
  readonly chains: readonly (readonly string[])[];
  readonly free: readonly string[];
}

/** Which members an object may have. */
export interface MemberRules {
  readonly required: ReadonlySet<string>;
  /** A member with the first name requires one with the second. */
  readonly needs: readonly (readonly [name: string, needed: string])[];
  readonly min: number;
  readonly max: number;
  /** Whether members with other names are allowed. */
  readonly isOpen: boolean;
}

/**
 * Consecutive members of the only chain that have no dependencies, by the first of them. Which of them are present does
 * not affect what may follow, so they form one step.
 */
export function runsIn({ chains, free }: MemberOrder, rules: MemberRules): Map<string, string[]> {
  const runs = new Map<string, string[]>();
  const isCounted = rules.min > 0 || rules.max < Infinity;
  const [chain] = chains;
  if (!chain || chains.length > 1 || free.length > 0 || isCounted) return runs;
  const watched = new Set(rules.needs.flat());
  let run: string[] = [];
  for (const name of chain) {
    if (watched.has(name)) run = [];
    else if (run.push(name) === 2) runs.set(run[0] as string, run);
  }
  return runs;
}

/** A state between the members of an object; states are identified by index, and the object begins at 0. */
export interface MemberState {
  readonly isStarted: boolean;
  /** Takes a member, or skips the next one. */
  readonly steps: readonly { readonly take?: string; readonly to: number }[];
  /** The state after a member with another name, while listed ones may still come. */
  readonly another?: number;
  /** How many members with other names may come before the end, when no listed one must. */
  readonly ends?: { readonly min: number; readonly max: number };
}

/** What is known of an object so far. */
interface Seen {
  /** By chain: how many names are decided. */
  readonly at: readonly number[];
  /** The free names that may still come. */
  readonly free: readonly string[];
  /** Names that must still come. */
  readonly wanted: ReadonlySet<string>;
  /** Names that must not come any more. */
  readonly barred: ReadonlySet<string>;
  readonly count: number;
  readonly isStarted: boolean;
}

/** More free names than this need too many states. */
const MAX_FREE = 10;

/** Explores what may come next in an object, and merges states with the same future. */
export class MemberStates {
  readonly #rules: MemberRules;
  readonly #isCounted: boolean;
  readonly #countTo: number;
  #places = new Map<string, { chain: number; index: number }>();

  constructor(rules: MemberRules) {
    this.#rules = rules;
    this.#isCounted = rules.min > 0 || rules.max < Infinity;
    this.#countTo = rules.max < Infinity ? rules.max : rules.min;
  }

  /** All states; undefined when there are more than `most`, or more transitions than `steps` has left; spends those. */
  explore(order: MemberOrder, most: number, steps = { left: Infinity }): MemberState[] | undefined {
    const { chains, free } = order;
    const states: MemberState[] = [];
    const indices = new Map<string, number>();
    const open: Seen[] = [];
    const indexOf = (seen: Seen): number => {
      const key = keyOf(seen);
      let index = indices.get(key);
      if (index === undefined) {
        index = indices.size;
        indices.set(key, index);
        open.push(seen);
      }
      return index;
    };
    if (free.length > MAX_FREE) return undefined;
    // There is at least one state for each combination of positions in the chains.
    if (chains.reduce((places, chain) => places * (chain.length + 1), 1) > most) return undefined;
    this.#places = new Map(
      chains.flatMap((names, chain) => names.map((name, index) => [name, { chain, index }])),
    );
    indexOf({
      at: chains.map(() => 0),
      free,
      wanted: new Set(free.filter((name) => this.#rules.required.has(name))),
      barred: new Set(),
      count: 0,
      isStarted: false,
    });
    for (let next = 0; next < open.length; next++) {
      if (open.length > most || steps.left < 0) return undefined;
      const state = this.#state(open[next] as Seen, chains, indexOf);
      steps.left -= state.steps.length;
      states.push(state);
    }
    return states;
  }

  #state(seen: Seen, chains: MemberOrder['chains'], indexOf: (seen: Seen) => number): MemberState {
    const steps: { take?: string; to: number }[] = [];
    for (const [which, chain] of chains.entries()) {
      const name = chain[seen.at[which] ?? 0];
      if (name === undefined) continue;
      const at = seen.at.map((index, other) => (other === which ? index + 1 : index));
      const taken = this.#take(name, { ...seen, at });
      if (taken) steps.push({ take: name, to: indexOf(taken) });
      const left = this.#leaveOut(name, { ...seen, at });
      if (left) steps.push({ to: indexOf(left) });
    }
    for (const name of seen.free) {
      const taken = this.#take(name, { ...seen, free: seen.free.filter((other) => other !== name) });
      if (taken) steps.push({ take: name, to: indexOf(taken) });
    }
    const isThrough = chains.every((chain, which) => chain.length === seen.at[which]);
    const isOpen = this.#rules.isOpen && seen.count < this.#rules.max;
    const { min, max } = this.#rules;
    const ends =
      isThrough && seen.wanted.size === 0 && seen.count <= max
        ? { min: Math.max(0, min - seen.count), max: this.#rules.isOpen ? max - seen.count : 0 }
        : undefined;
    const another =
      isOpen && (isThrough ? seen.free.length > 0 : chains.length > 1)
        ? indexOf(this.#counted(seen))
        : undefined;
    const isEnd = ends !== undefined && ends.min <= ends.max;
    return {
      isStarted: seen.isStarted,
      steps,
      ...(another !== undefined && { another }),
      ...(isEnd && { ends }),
    };
  }

  #counted(seen: Seen): Seen {
    return { ...seen, isStarted: true, count: this.#isCounted ? Math.min(this.#countTo, seen.count + 1) : 0 };
  }

  #take(name: string, seen: Seen): Seen | undefined {
    if (seen.barred.has(name) || (this.#isCounted && seen.count >= this.#rules.max)) return undefined;
    let wanted = without(seen.wanted, name);
    for (const [of, needed] of this.#rules.needs) {
      if (of === name && this.#isToCome(needed, seen)) wanted = new Set([...wanted, needed]);
    }
    return this.#counted({ ...seen, wanted, barred: without(seen.barred, name) });
  }

  #leaveOut(name: string, seen: Seen): Seen | undefined {
    if (this.#rules.required.has(name) || seen.wanted.has(name)) return undefined;
    let barred = without(seen.barred, name);
    for (const [of, needed] of this.#rules.needs) {
      if (needed === name && this.#isToCome(of, seen)) barred = new Set([...barred, of]);
    }
    return { ...seen, barred };
  }

  #isToCome(name: string, seen: Seen): boolean {
    const place = this.#places.get(name);
    return place ? place.index >= (seen.at[place.chain] ?? 0) : seen.free.includes(name);
  }
}

function keyOf({ at, free, wanted, barred, count, isStarted }: Seen): string {
  const place = `${at.join()} ${count} ${isStarted}`;
  if (free.length === 0 && wanted.size === 0 && barred.size === 0) return place;
  return JSON.stringify([place, free, [...wanted].sort(), [...barred].sort()]);
}

function without(names: ReadonlySet<string>, name: string): ReadonlySet<string> {
  if (!names.has(name)) return names;
  const left = new Set(names);
  left.delete(name);
  return left;
}
