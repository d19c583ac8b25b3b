import { invariant } from '../../../base/errors.ts';
import type { Ffi, WorkerPort } from '../../../device/index.ts';
import type { FfiLoader, NativeBuild } from '../native/native-kernels.ts';
import { COMMAND, COMMAND_KIND } from '../protocol/command.ts';
import { ASLEEP, AWAKE, ControlBlock, reached, WORD } from '../protocol/control.ts';
import type { Announcement, HostMessage, WorkerMessage } from '../protocol/messages.ts';
import type { StepTable } from '../protocol/step-table.ts';
import { type LayoutTable, layoutsOf } from '../weight-layouts.ts';
import { BankInstance, type NativeSource } from './bank-instance.ts';
import type { Phase } from './chunked.ts';
import { CopyCommand } from './copy-command.ts';
import { PackCommand } from './pack-command.ts';
import { SharedPhase } from './shared-phase.ts';
import { stepPhases } from './step.ts';

/**
 * Number of checks for the next command before a worker sleeps, so that a caller that responds immediately does not
 * wait.
 */
const SPINS = 1000;

/** How long a worker sleeps on the shared word before it returns to its event loop, which is slower to wake. */
const LINGER_MS = 20;

/** How a thread is a worker. */
export interface CpuWorkerOptions {
  /** The device's host is on the same thread, which must not wait for commands then. Default false. */
  readonly sharesThread?: boolean | undefined;
}

/**
 * Makes this thread a worker of a CPU device: messages announce banks and steps, the ring holds the commands. `loadFfi` is needed for
 * devices with native kernels.
 */
export function runCpuWorker(
  port: WorkerPort,
  loadFfi?: FfiLoader,
  { sharesThread = false }: CpuWorkerOptions = {},
): void {
  let worker: CpuWorker | undefined;
  /** Messages that arrive before the worker has started; undefined from then on. */
  let early: HostMessage[] | undefined = [];
  const failed = (error: unknown) => {
    worker = undefined;
    const { message: text, stack = '' } = error instanceof Error ? error : new Error(String(error));
    port.post({ kind: 'failed', message: text, stack } satisfies WorkerMessage);
  };
  const begin = (start: StartMessage, ffi?: Ffi) => {
    worker = new CpuWorker(start, port, { ffi, sharesThread });
    for (const message of early ?? []) worker.receive(message);
    early = undefined;
  };
  port.onMessage((data) => {
    const message = data as HostMessage;
    try {
      if (message.kind !== 'start') {
        if (early) early.push(message);
        else worker?.receive(message);
      } else if (message.native || message.nativeLater) {
        invariant(loadFfi, 'a worker with native kernels has an FFI');
        void loadFfi()
          .then((ffi) => begin(message, ffi))
          .catch(failed);
      } else begin(message);
    } catch (error) {
      failed(error);
    }
  });
}

type StartMessage = Extract<HostMessage, { kind: 'start' }>;

/** The thread that a worker runs on. */
interface OwnThread {
  readonly ffi: Ffi | undefined;
  readonly sharesThread: boolean;
}

class CpuWorker {
  readonly #port: WorkerPort;
  readonly #control: ControlBlock;
  readonly #kernels: WebAssembly.Module;
  readonly #ffi: Ffi | undefined;
  readonly #sharesThread: boolean;
  readonly #layouts: LayoutTable;
  readonly #index: number;
  readonly #threads: number;
  readonly #shared: SharedPhase;
  readonly #banks = new Map<number, BankInstance>();
  readonly #steps = new Map<number, readonly Phase[]>();
  readonly #copy: CopyCommand;
  readonly #pack: PackCommand;
  /** What steps are built from, as long as they may have to be built again. */
  readonly #tables = new Map<number, StepTable>();
  #native: NativeSource | undefined;
  #nativeLater: boolean;
  #heard = 0;
  /** Number of announcements that all workers are known to have read. */
  #heardByAll = 0;
  /** The command that `#phases` are those of. */
  #command = 0;
  #phases: readonly Phase[] = [];

  constructor(start: StartMessage, port: WorkerPort, { ffi, sharesThread }: OwnThread) {
    this.#port = port;
    this.#control = new ControlBlock(start.control);
    this.#kernels = start.kernels;
    this.#layouts = layoutsOf(start);
    this.#index = start.index;
    this.#ffi = ffi;
    this.#sharesThread = sharesThread;
    this.#native = start.native && ffi && { build: start.native, ffi };
    this.#nativeLater = start.nativeLater;
    this.#threads = start.threads;
    this.#shared = new SharedPhase(this.#control);
    this.#copy = new CopyCommand(this.#bank);
    this.#pack = new PackCommand(this.#bank);
  }

  receive(message: HostMessage): void {
    if (message.kind === 'drop') {
      this.#steps.delete(message.id);
      this.#tables.delete(message.id);
    } else if (message.kind !== 'start' && message.kind !== 'wake') this.#hear(message);
    this.#drain();
  }

  #hear(message: Announcement): void {
    if (message.kind === 'bank') {
      const options = { worker: this.#index, native: this.#native, layouts: this.#layouts };
      this.#banks.set(message.id, new BankInstance(this.#kernels, message.memory, options));
    } else if (message.kind === 'step') {
      this.#build(message.id, message.table);
      if (this.#nativeLater) this.#tables.set(message.id, message.table);
    } else this.#takeNative(message.build);
    this.#heard = (this.#heard + 1) | 0;
    Atomics.store(this.#control.words, WORD.heard + this.#index, this.#heard);
  }

  #build(id: number, table: StepTable): void {
    this.#steps.set(id, stepPhases(table, this.#threads, this.#bank));
  }

  /** Native kernels have the results of those whose places they take, so other workers may do this earlier or later. */
  #takeNative(build: NativeBuild | undefined): void {
    this.#nativeLater = false;
    const native = build && this.#ffi && { build, ffi: this.#ffi };
    if (native) {
      this.#native = native;
      for (const bank of this.#banks.values()) bank.takeNative(native);
      for (const [id, table] of this.#tables) this.#build(id, table);
    }
    this.#tables.clear();
  }

  readonly #bank = (id: number): BankInstance => {
    const bank = this.#banks.get(id);
    invariant(bank, `bank ${id} is known`);
    return bank;
  };

  /**
   * Takes part in commands until there are none for a while, or until the next one needs a message that this worker has yet to
   * read.
   */
  #drain(): void {
    const { words } = this.#control;
    const state = WORD.states + this.#index;
    Atomics.store(words, state, AWAKE);
    for (;;) {
      const seen = this.#shared.generation;
      if (this.#join()) continue;
      if (this.#running()) this.#shared.wait(seen);
      else if (this.#submitted() ? this.#startOrAwait(seen) : this.#linger()) continue;
      else {
        Atomics.store(words, state, ASLEEP);
        if (!this.#running() && !this.#canHelp()) return;
        Atomics.store(words, state, AWAKE);
      }
    }
  }

  /**
   * Starts the next command. If that has to wait for a worker that has something to read, or another one was faster, waits for the
   * generation after `seen`. False if it is this worker that has something to read.
   */
  #startOrAwait(seen: number): boolean {
    if (this.#start()) return true;
    if (!this.#canHelp()) return !this.#submitted();
    this.#shared.wait(seen);
    return true;
  }

  #running(): boolean {
    return Atomics.load(this.#control.words, WORD.running) !== this.#control.completed;
  }

  #submitted(): boolean {
    return Atomics.load(this.#control.words, WORD.submitted) !== this.#control.completed;
  }

  /** Whether the next command is there, and this worker has read what it needs; others may have to read it yet. */
  #canHelp(): boolean {
    return this.#submitted() && reached(this.#heard, this.#neededBy((this.#control.completed + 1) | 0));
  }

  #neededBy(command: number): number {
    return this.#control.command(command)[COMMAND.announced] as number;
  }

  /** Whether a command arrived within that time. */
  #linger(): boolean {
    if (this.#sharesThread) return false;
    const { words, completed } = this.#control;
    for (let i = 0; i < SPINS; i++) if (Atomics.load(words, WORD.submitted) !== completed) return true;
    return Atomics.wait(words, WORD.submitted, completed, LINGER_MS) !== 'timed-out';
  }

  /** Runs chunks of the open phase, if there are any left; whether there were. */
  #join(): boolean {
    const chunk = this.#shared.take();
    if (chunk < 0) return false;
    const { command, index } = this.#shared;
    this.#enter(command);
    const phase = this.#phases[index] as Phase;
    phase.prepare();
    if (this.#runChunks(phase, chunk)) this.#proceed(index + 1);
    return true;
  }

  /** Starts the next command if none runs and all workers have read what it needs; whether it did. */
  #start(): boolean {
    const { words, completed } = this.#control;
    if (Atomics.load(words, WORD.submitted) === completed) return false;
    if (Atomics.load(words, WORD.running) !== completed) return false;
    const next = (completed + 1) | 0;
    if (!this.#allHeard(this.#neededBy(next))) return false;
    if (Atomics.compareExchange(words, WORD.running, completed, next) !== completed) return false;
    this.#enter(next);
    this.#proceed(0);
    return true;
  }

  #allHeard(needed: number): boolean {
    if (reached(this.#heardByAll, needed)) return true;
    const { words } = this.#control;
    for (let worker = 0; worker < this.#threads; worker++) {
      if (!reached(Atomics.load(words, WORD.heard + worker), needed)) return false;
    }
    this.#heardByAll = needed;
    return true;
  }

  /** Opens the running command's phases from that one on, as long as this worker is the last of each. */
  #proceed(from: number): void {
    for (let index = from; index < this.#phases.length; index++) {
      const phase = this.#phases[index] as Phase;
      const chunks = phase.prepare();
      if (chunks === 0) continue;
      this.#shared.open(this.#command, index, chunks);
      if (!this.#runChunks(phase, 0)) return;
    }
    const wanted = this.#control.complete(this.#command);
    this.#shared.release();
    if (wanted) this.#port.post({ kind: 'done' } satisfies WorkerMessage);
  }

  /** Runs a chunk and what else is left. True for the worker that closes the phase. */
  #runChunks(phase: Phase, first: number): boolean {
    let count = 0;
    for (let chunk = first; chunk >= 0; chunk = this.#shared.take()) {
      phase.run(chunk);
      count++;
    }
    return this.#shared.report(count);
  }

  /** Looks up the phases of a command that is running and stays so. */
  #enter(command: number): void {
    if (command === this.#command) return;
    this.#phases = this.#phasesOf(this.#control.command(command));
    this.#command = command;
  }

  #phasesOf(words: Int32Array): readonly Phase[] {
    const kind = words[COMMAND.kind];
    if (kind === COMMAND_KIND.run) {
      const step = this.#steps.get(words[COMMAND.step] as number);
      invariant(step, 'the step of a command is known');
      return step;
    }
    const command = kind === COMMAND_KIND.copy ? this.#copy : this.#pack;
    command.read(words);
    return [command];
  }
}
