import { RocmforgeError } from '../../../base/errors.ts';
import type { WorkerHandle, WorkerHost } from '../../../device/index.ts';
import { COMMAND } from '../protocol/command.ts';
import { ASLEEP, AWAKE, ControlBlock, WORD } from '../protocol/control.ts';
import type { Announcement, HostMessage, WorkerMessage } from '../protocol/messages.ts';

/** What workers are told of their kernels. */
type StartOptions = Pick<Extract<HostMessage, { kind: 'start' }>, 'kernels' | 'native' | 'nativeLater'>;

/** Receives the team's notifications. */
export interface TeamListener {
  /** A command for which notification was requested is done. */
  onDone(): void;
  /** A worker died or failed; the team is no longer usable. */
  onLost(error: Error): void;
}

/** The worker threads of one device. All receive the same messages, and any of them may run any part of a command. */
export class WorkerTeam {
  readonly control = ControlBlock.create();
  readonly #workers: readonly WorkerHandle[];
  #announced = 0;
  #ended = false;

  constructor(host: WorkerHost, threads: number, listener: TeamListener) {
    const lost = (cause: Error) => {
      if (this.#ended) return;
      this.#ended = true;
      listener.onLost(new RocmforgeError('DEVICE_LOST', { device: 'cpu', why: cause.message }, { cause }));
    };
    this.#workers = Array.from({ length: threads }, (_, index) => {
      const worker = host.start(`rocmforge cpu ${index}`);
      worker.onFailure(lost);
      worker.onMessage((message) => {
        const answer = message as WorkerMessage;
        if (answer.kind === 'done') listener.onDone();
        else lost(Object.assign(new Error(answer.message), { stack: answer.stack }));
      });
      return worker;
    });
  }

  get threads(): number {
    return this.#workers.length;
  }

  /** Prepares the workers to take commands. */
  start(options: StartOptions): void {
    const { memory } = this.control;
    this.#workers.forEach((worker, index) => {
      this.#post(worker, { ...options, kind: 'start', control: memory, index, threads: this.threads });
    });
  }

  /** Tells the workers what commands submitted later may refer to. */
  announce(message: Announcement): void {
    this.#announced = (this.#announced + 1) | 0;
    this.#broadcast(message);
  }

  /** Tells the workers that no command will refer to a step again. */
  drop(id: number): void {
    this.#broadcast({ kind: 'drop', id });
  }

  /** Says that commands up to `sequence`, of which it is the only new one, are in the ring. */
  submit(sequence: number): void {
    const { words } = this.control;
    this.control.command(sequence)[COMMAND.announced] = this.#announced;
    Atomics.store(words, WORD.submitted, sequence);
    Atomics.notify(words, WORD.submitted);
    this.#workers.forEach((worker, index) => {
      const state = Atomics.compareExchange(words, WORD.states + index, ASLEEP, AWAKE);
      if (state === ASLEEP) this.#post(worker, { kind: 'wake' });
    });
  }

  /** Sets whether the workers keep the process alive. Holding one worker is enough. */
  hold(held: boolean): void {
    this.#workers[0]?.hold(held);
  }

  /** Terminates all workers, whatever they are doing. */
  async terminate(): Promise<void> {
    this.#ended = true;
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  #broadcast(message: HostMessage): void {
    for (const worker of this.#workers) this.#post(worker, message);
  }

  #post(worker: WorkerHandle, message: HostMessage): void {
    worker.post(message);
  }
}
