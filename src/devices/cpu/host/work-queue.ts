import { RING_ENTRIES, reached } from '../protocol/control.ts';
import type { WorkerTeam } from './worker-team.ts';

/**
 * A piece of queued work. `issue` hands it to the workers as far as there is room and says whether all of it went; it is
 * called again, after some earlier work is done, until it did.
 */
export interface Work {
  issue(queue: WorkQueue): boolean;
  /** The device is lost; the work will not be done. */
  abandon(error: Error): void;
}

/** What the host does once the commands before it are done. */
export interface Retirement {
  /** Somebody waits for it: the workers tell the host when they get there. Call `poll` after setting it. */
  readonly awaited: boolean;
  /** `time` is when the last command was done, in milliseconds since the epoch. */
  retire(time: number): void;
  /** The device is lost; it will not come to `retire`. */
  abandon(error: Error): void;
}

/** A retirement, and the command it waits for. */
interface Retiring {
  readonly sequence: number;
  readonly of: Retirement;
}

/**
 * The one queue of a device. All streams put their work into it, so that work is done in the order of the calls; this is
 * all the ordering that streams and events promise. Commands go into the ring at once as long as it has room, and workers
 * take one after the other without the host; the host is told only when somebody waits.
 */
export class WorkQueue {
  readonly #team: WorkerTeam;
  readonly #pending: Work[] = [];
  readonly #retirements: Retiring[] = [];
  #submitted = 0;
  #retired = 0;
  #held = false;
  #lost: Error | undefined;

  constructor(team: WorkerTeam) {
    this.#team = team;
  }

  /** Every command handed out is done. */
  get drained(): boolean {
    this.#retire();
    return this.#retired === this.#submitted;
  }

  get lost(): Error | undefined {
    return this.#lost;
  }

  /** Adds work behind everything else. */
  push(work: Work): void {
    if (this.#lost) {
      work.abandon(this.#lost);
      return;
    }
    this.#pending.push(work);
    this.poll();
  }

  /** Writes a command if the ring has room; true when it was written. */
  command(write: (words: Int32Array) => void, retirement?: Retirement): boolean {
    if (((this.#submitted - this.#retired) | 0) >= RING_ENTRIES) return false;
    const sequence = (this.#submitted + 1) | 0;
    write(this.#team.control.command(sequence));
    this.#submitted = sequence;
    if (retirement) this.#retirements.push({ sequence, of: retirement });
    this.#team.submit(sequence);
    return true;
  }

  /** Retires something after all commands handed out so far; at once when they are done. */
  afterCommands(retirement: Retirement): void {
    if (this.drained) retirement.retire(performance.timeOrigin + performance.now());
    else this.#retirements.push({ sequence: this.#submitted, of: retirement });
  }

  /** Takes note of what is done, and hands out what has room now. */
  poll(): void {
    this.#retire();
    while (this.#pending[0]?.issue(this)) this.#pending.shift();
    this.#listen();
  }

  /** Ends the queue: everything in it and all that comes later is abandoned. */
  lose(error: Error): void {
    if (this.#lost) return;
    this.#lost = error;
    for (const { of } of this.#retirements.splice(0)) of.abandon(error);
    for (const work of this.#pending.splice(0)) work.abandon(error);
    this.#listen();
  }

  #retire(): void {
    const { control } = this.#team;
    const { completed } = control;
    while (this.#retirements[0] && reached(completed, this.#retirements[0].sequence)) {
      const { sequence, of } = this.#retirements.shift() as Retiring;
      this.#retired = sequence;
      of.retire(control.timeOf(sequence));
    }
    if (reached(completed, this.#retired)) this.#retired = completed;
  }

  /** Asks for a message about the next command that somebody waits for, and holds the process meanwhile. */
  #listen(): void {
    const stuck = this.#pending.length > 0;
    const awaited = this.#lost ? undefined : this.#retirements.find(({ of }) => stuck || of.awaited);
    const needed = !this.#lost && (stuck || awaited !== undefined);
    if (needed !== this.#held) {
      this.#held = needed;
      this.#team.hold(needed);
    }
    if (needed && !this.#team.control.want(awaited?.sequence ?? this.#submitted)) {
      queueMicrotask(() => this.poll());
    }
  }
}
