import type { DraftCount } from '../scheduler/draft-pace.ts';
import type { Follower } from '../scheduler/proposer.ts';

/** Where the draft tokens of a sequence come from, and how many there are. */
export interface DraftsSetup {
  readonly follower: Follower;
  readonly count: DraftCount;
  /** Fewest that are verified. */
  readonly min: number;
}

/**
 * The draft tokens of a sequence. While there are none, because they would cost more than they save, the sequence runs
 * like any other, and proposals that cost nothing are compared with what it says.
 */
export class SequenceDrafts {
  ids: readonly number[] = [];
  readonly #setup: DraftsSetup;
  #next: number;
  #isProposing = false;
  #hasProposed = false;
  /** What would have been proposed for the next token: -1 for nothing; undefined if nobody was asked. */
  #guess: number | undefined;

  constructor(setup: DraftsSetup) {
    this.#setup = setup;
    this.#next = setup.count.choose();
  }

  /** The number for now. */
  get next(): number {
    return this.#next;
  }

  /** Whether the sequence waits for the host: for proposals, or for the tokens that these follow. */
  holds(isPending: boolean): boolean {
    return this.#isProposing || (this.#next > 0 && isPending);
  }

  /** True while it waits for proposals that arrive at about the same time as others'. */
  get comesSoon(): boolean {
    return this.#isProposing && (this.#hasProposed || this.#setup.follower.holdsSteps === true);
  }

  /** Records how many of the draft tokens were right, and the token that was sampled first. */
  verified(proposed: number, accepted: number, first: number): void {
    const { count } = this.#setup;
    if (proposed > 0) count.verified(proposed, accepted);
    else if (this.#guess !== undefined) count.verified(1, this.#guess === first ? 1 : 0);
    this.#guess = undefined;
    this.ids = [];
  }

  /**
   * Decides how many come next and asks for them, unless there is room for none or tokens are still to be read. Resolves
   * once they are known; undefined if they already are.
   */
  ask(room: number, isPending: boolean): Promise<void> | undefined {
    const { follower, count, min } = this.#setup;
    this.#next = count.choose();
    if (room <= 0) return undefined;
    if (this.#next === 0) {
      if (follower.isFree) this.#guess = firstOf(follower.propose(1));
      return undefined;
    }
    if (isPending) return undefined;
    const take = (found: readonly number[]) => {
      this.ids = found.length < min ? [] : found;
      // Nothing to verify counts as a wrong guess: drafts are given up where there is seldom a basis for any.
      if (found.length === 0) this.#guess = -1;
    };
    const found = follower.propose(Math.min(this.#next, room));
    if (!(found instanceof Promise)) {
      take(found);
      return undefined;
    }
    this.#isProposing = true;
    return found.then((ids) => {
      take(ids);
      this.#isProposing = false;
      this.#hasProposed = true;
    });
  }

  leave(): void {
    this.#setup.follower.leave();
  }
}

/** The first proposed id, or -1. A promise is not waited for. */
function firstOf(found: readonly number[] | Promise<readonly number[]>): number | undefined {
  return found instanceof Promise ? undefined : (found[0] ?? -1);
}
