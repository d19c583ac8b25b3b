import { invariant } from '../../../base/errors.ts';
import type { Ffi, WorkerPort } from '../../../device/index.ts';
import type { FfiLoader, NativeBuild } from '../native/native-kernels.ts';
import { COMMAND, COMMAND_KIND } from '../protocol/command.ts';
import { ASLEEP, AWAKE, ControlBlock, WORD } from '../protocol/control.ts';
import type { HostMessage, WorkerMessage } from '../protocol/messages.ts';
import type { StepTable } from '../protocol/step-table.ts';
import { BankInstance, type NativeSource } from './bank-instance.ts';
import type { RowCounts } from './chunked.ts';
import { CopyCommand } from './copy-command.ts';
import { PackCommand } from './pack-command.ts';
import { PhaseRunner } from './phase-runner.ts';
import { WorkerStep } from './step.ts';

/**
 * Number of checks for the next command before a worker sleeps, so that a caller that responds immediately does not
 * wait.
 */
const SPINS = 1000;

/** How long a worker sleeps on the shared word before it returns to its event loop, which is slower to wake. */
const LINGER_MS = 20;

const NO_ROWS: RowCounts = { rows: 0, outputs: 0, slots: 0, one: 1 };

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
  readonly #index: number;
  readonly #runner: PhaseRunner;
  readonly #banks = new Map<number, BankInstance>();
  readonly #steps = new Map<number, WorkerStep>();
  readonly #copy: CopyCommand;
  readonly #pack: PackCommand;
  /** What steps are built from, as long as they may have to be built again. */
  readonly #tables = new Map<number, StepTable>();
  #native: NativeSource | undefined;
  #nativeLater: boolean;
  #done = 0;

  constructor(start: StartMessage, port: WorkerPort, { ffi, sharesThread }: OwnThread) {
    this.#port = port;
    this.#control = new ControlBlock(start.control);
    this.#kernels = start.kernels;
    this.#index = start.index;
    this.#ffi = ffi;
    this.#sharesThread = sharesThread;
    this.#native = start.native && ffi && { build: start.native, ffi };
    this.#nativeLater = start.nativeLater;
    this.#runner = new PhaseRunner(this.#control, start.threads);
    this.#copy = new CopyCommand(this.#bank);
    this.#pack = new PackCommand(this.#bank);
  }

  receive(message: HostMessage): void {
    if (message.kind === 'bank') {
      const options = { worker: this.#index, native: this.#native };
      this.#banks.set(message.id, new BankInstance(this.#kernels, message.memory, options));
    } else if (message.kind === 'step') {
      this.#build(message.id, message.table);
      if (this.#nativeLater) this.#tables.set(message.id, message.table);
    } else if (message.kind === 'native') this.#takeNative(message.build);
    else if (message.kind === 'drop') {
      this.#steps.delete(message.id);
      this.#tables.delete(message.id);
    }
    this.#drain();
  }

  #build(id: number, table: StepTable): void {
    this.#steps.set(id, new WorkerStep(table, this.#runner.threads, this.#bank));
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
   * Runs commands until there are none for a while, or until one refers to something that a message has yet to
   * announce.
   */
  #drain(): void {
    const { words } = this.#control;
    const state = WORD.states + this.#index;
    Atomics.store(words, state, AWAKE);
    for (;;) {
      const next = (this.#done + 1) | 0;
      if (this.#submitted() && this.#knows(this.#control.command(next))) {
        this.#run(this.#control.command(next), next);
        this.#done = next;
        continue;
      }
      if (!this.#submitted() && !this.#sharesThread && this.#linger()) continue;
      Atomics.store(words, state, ASLEEP);
      if (!this.#submitted() || !this.#knows(this.#control.command(next))) return;
      Atomics.store(words, state, AWAKE);
    }
  }

  #submitted(): boolean {
    return Atomics.load(this.#control.words, WORD.submitted) !== this.#done;
  }

  /** Whether a command arrived within that time. */
  #linger(): boolean {
    for (let i = 0; i < SPINS; i++) if (this.#submitted()) return true;
    return Atomics.wait(this.#control.words, WORD.submitted, this.#done, LINGER_MS) !== 'timed-out';
  }

  /** False while what a command needs has not been announced yet. */
  #knows(words: Int32Array): boolean {
    if (words[COMMAND.kind] === COMMAND_KIND.native) return !this.#nativeLater;
    if (words[COMMAND.kind] === COMMAND_KIND.run) return this.#steps.has(words[COMMAND.step] as number);
    const ends = [words[COMMAND.sourceBank], words[COMMAND.targetBank]] as number[];
    return ends.every((bank) => this.#banks.has(bank));
  }

  #run(words: Int32Array, sequence: number): void {
    const kind = words[COMMAND.kind];
    if (kind === COMMAND_KIND.run) this.#steps.get(words[COMMAND.step] as number)?.run(this.#runner);
    else if (kind !== COMMAND_KIND.native) {
      const command = kind === COMMAND_KIND.copy ? this.#copy : this.#pack;
      command.read(words);
      this.#runner.phase([command], NO_ROWS);
    }
    if (this.#runner.finish(sequence)) this.#port.post({ kind: 'done' } satisfies WorkerMessage);
  }
}
