import { RING_ENTRIES, reached } from '../protocol/control.ts';
import type { WorkerTeam } from './worker-team.ts';

/**
 * Queued work. `issue` hands it to the workers as far as there is space, and returns whether all of it was handed out;
 * otherwise it is called again once earlier work is done.
 */
export interface Work {
  issue(queue: WorkQueue): boolean;
  /** Called if the device is lost and the work will not be done. */
  abandon(error: Error): void;
}

/** Host work that runs once the commands before it are done. */
export interface Retirement {
  /**
   * Whether somebody waits for it, so that the workers notify the host when they reach it. Call `poll` after setting
   * it.
   */
  readonly awaited: boolean;
  /** `time` is when the last command completed, in milliseconds since the epoch. */
  retire(time: number): void;
  /** Called instead of `retire` if the device is lost. */
  abandon(error: Error): void;
}

/** A retirement, and the command that it waits for. */
interface Retiring {
  readonly sequence: number;
  readonly of: Retirement;
}

/**
 * The single queue of a device. All streams add their work to it, so work is done in the order of the calls, which is
 * all the ordering that streams and events promise. Commands go into the ring as soon as it has space, and workers take
 * one after the other without the host, which is notified only if somebody waits.
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

  /** Whether all commands handed out are done. */
  get drained(): boolean {
    this.#retire();
    return this.#retired === this.#submitted;
  }

  get lost(): Error | undefined {
    return this.#lost;
  }

  /** Adds work at the end. */
  push(work: Work): void {
    if (this.#lost) {
      work.abandon(this.#lost);
      return;
    }
    this.#pending.push(work);
    this.poll();
  }

  /** Writes a command if the ring has space; returns whether it did. */
  command(write: (words: Int32Array) => void, retirement?: Retirement): boolean {
    if (((this.#submitted - this.#retired) | 0) >= RING_ENTRIES) return false;
    const sequence = (this.#submitted + 1) | 0;
    write(this.#team.control.command(sequence));
    this.#submitted = sequence;
    if (retirement) this.#retirements.push({ sequence, of: retirement });
    this.#team.submit(sequence);
    return true;
  }

  /** Runs a retirement after all commands handed out so far; immediately if they are done. */
  afterCommands(retirement: Retirement): void {
    if (this.drained) retirement.retire(performance.timeOrigin + performance.now());
    else this.#retirements.push({ sequence: this.#submitted, of: retirement });
  }

  /** Retires completed commands, and hands out work that now has space. */
  poll(): void {
    this.#retire();
    while (this.#pending[0]?.issue(this)) this.#pending.shift();
    this.#listen();
  }

  /** Closes the queue: all work in it and all later work is abandoned. */
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

  /** Requests a message for the next command that somebody waits for, and keeps the process alive meanwhile. */
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
