import { type ChildProcess, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fail, RocmforgeError } from '../base/errors.ts';
import type { CompileJob, CompileResult, KernelCompiler } from '../devices/hip-cuda/index.ts';
import { packageFile } from './package-file.ts';

/** A request to a compiling process. */
export interface CompileRequest {
  readonly job: CompileJob;
  /** Libraries to search for the compiler, instead of the usual ones. */
  readonly libraries?: readonly string[] | undefined;
}

/** The reply of a compiling process. */
export type CompileReply = CompileResult | { readonly unavailable: string };

/** Options of compiling processes. */
export interface ChildCompilerOptions {
  readonly libraries?: Partial<Record<CompileJob['api'], readonly string[]>>;
  /** Maximum concurrent processes. Default: one per processor, at most sixteen. */
  readonly processes?: number;
  /** An idle process ends after this long: a model's kernels are compiled in one burst. Default: 2000. */
  readonly idleMilliseconds?: number;
}

const MAIN = '../bin/hip-cuda-compile-process.js';

const IDLE_MILLISECONDS = 2000;

interface Waiting {
  readonly request: CompileRequest;
  resolve(reply: CompileReply): void;
  reject(reason: unknown): void;
}

/** An error of a closed compiler is not a compilation result, which could be cached or blamed on the source. */
const closed = (): RocmforgeError => new RocmforgeError('DISPOSED', { what: 'the kernel compiler' });

/**
 * Compiles in child processes, several at once: a compiler that terminates its process, as the hipRTC of ROCm 5 does
 * for an unknown target, becomes an error.
 */
export class ChildCompiler implements KernelCompiler, AsyncDisposable {
  readonly #options: ChildCompilerOptions;
  readonly #maxProcesses: number;
  readonly #queue: Waiting[] = [];
  readonly #workers = new Set<CompilerProcess>();
  /** What is being compiled, by all that decides what comes of it. */
  readonly #compiling = new Map<string, Promise<CompileResult>>();
  #disposed = false;

  constructor(options: ChildCompilerOptions = {}) {
    this.#options = options;
    this.#maxProcesses = options.processes ?? Math.min(16, availableParallelism());
  }

  /**
   * What several devices ask for at the same time is compiled once. Rejects with `LIBRARY_NOT_FOUND` if there is no compiler, and with
   * `DISPOSED` if it is closed before the compilation is done.
   */
  compile(job: CompileJob): Promise<CompileResult> {
    const key = JSON.stringify([job.api, job.options, job.name, job.source]);
    const known = this.#compiling.get(key);
    if (known) return known;
    const compiling = this.#compile(job).finally(() => this.#compiling.delete(key));
    this.#compiling.set(key, compiling);
    return compiling;
  }

  async #compile(job: CompileJob): Promise<CompileResult> {
    if (this.#disposed) throw closed();
    const libraries = this.#options.libraries?.[job.api];
    const reply = await new Promise<CompileReply>((resolve, reject) => {
      this.#queue.push({ request: { job, libraries }, resolve, reject });
      this.#dispatch();
    });
    if ('unavailable' in reply) {
      fail('LIBRARY_NOT_FOUND', { library: `the ${job.api} run-time compiler`, reasons: reply.unavailable });
    }
    return reply;
  }

  /** Ends the processes; pending compilations are rejected. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    for (const { reject } of this.#queue.splice(0)) reject(closed());
    await Promise.all([...this.#workers].map((worker) => worker.end()));
  }

  #dispatch(): void {
    for (const worker of this.#workers) if (worker.idle) this.#next(worker);
    while (this.#queue.length > 0 && this.#workers.size < this.#maxProcesses) {
      const worker = new CompilerProcess({
        idleMilliseconds: this.#options.idleMilliseconds ?? IDLE_MILLISECONDS,
        ended: (ended) => this.#workers.delete(ended),
      });
      this.#workers.add(worker);
      this.#next(worker);
    }
  }

  #next(worker: CompilerProcess): void {
    const waiting = this.#queue.shift();
    if (!waiting) return;
    void worker.ask(waiting.request).then((reply) => {
      // The process was ended during the compilation.
      if (this.#disposed && 'log' in reply) waiting.reject(closed());
      else waiting.resolve(reply);
      this.#dispatch();
    });
  }
}

interface CompilerProcessOptions {
  readonly idleMilliseconds: number;
  /** Called when the process takes no more requests. */
  ended(worker: CompilerProcess): void;
}

/** A compiling process and its current request. */
class CompilerProcess {
  readonly #process: ChildProcess;
  readonly #options: CompilerProcessOptions;
  #answer: ((reply: CompileReply) => void) | undefined;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(options: CompilerProcessOptions) {
    this.#options = options;
    this.#process = fork(packageFile(MAIN, import.meta.url), {
      serialization: 'advanced',
      execArgv: [],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.#process.on('message', (reply: CompileReply) => this.#settle(reply));
    this.#process.on('error', (error) => this.#stop(error.message));
    this.#process.on('exit', (code, signal) => this.#stop(`it ended with ${signal ?? `code ${code}`}`));
  }

  get idle(): boolean {
    return this.#answer === undefined && this.#process.connected && !this.#process.killed;
  }

  ask(request: CompileRequest): Promise<CompileReply> {
    clearTimeout(this.#idleTimer);
    this.#process.ref();
    this.#process.channel?.ref();
    return new Promise((resolve) => {
      this.#answer = resolve;
      this.#process.send(request, (error) => {
        if (error) this.#stop(error.message);
      });
    });
  }

  /** Resolves when the process has ended. */
  end(): Promise<void> {
    clearTimeout(this.#idleTimer);
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return Promise.resolve();
    return new Promise((resolve) => {
      this.#process.ref();
      this.#process.once('exit', () => resolve());
      this.#kill();
    });
  }

  /**
   * Immediately: compilers catch the polite signal to clean up, and NVRTC's handler has been observed never to return.
   */
  #kill(): void {
    this.#options.ended(this);
    this.#process.kill('SIGKILL');
  }

  #settle(reply: CompileReply): void {
    const answer = this.#answer;
    this.#answer = undefined;
    // An idle process does not keep the program alive.
    this.#process.unref();
    this.#process.channel?.unref();
    this.#idleTimer = setTimeout(() => this.#kill(), this.#options.idleMilliseconds).unref();
    answer?.(reply);
  }

  #stop(why: string): void {
    this.#options.ended(this);
    clearTimeout(this.#idleTimer);
    const log = `the compiler's process stopped: ${why}; it may not know this GPU, or be of another version than the driver`;
    const answer = this.#answer;
    this.#answer = undefined;
    answer?.({ log });
  }
}
