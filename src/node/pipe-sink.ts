import { constants, open } from 'node:fs';
import { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { throwIfAborted } from '../base/errors.ts';
import type { ByteSink } from '../io/index.ts';
import { writeFailed } from './file-sink.ts';

/** How long a pipe waits for its reader, in milliseconds, and how often it looks. */
const READER_WAIT_MS = 10_000;
const LOOK_EVERY_MS = 50;

const openDescriptor = promisify(open);

/** How a pipe is opened. */
export interface PipeOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds in which somebody has to read from it. */
  readonly readerWait?: number;
}

/**
 * Writes into a named pipe. Nothing of it ever blocks one of Node's threads, which would hold the process even when it is told to
 * end: neither a pipe that nobody reads nor a reader that has stopped. The creator disposes it.
 */
export class PipeSink implements ByteSink, AsyncDisposable {
  readonly #path: string;
  readonly #socket: Socket;
  readonly #signal: AbortSignal | undefined;
  readonly #aborted = () => this.#socket.destroy();

  private constructor(path: string, fd: number, signal: AbortSignal | undefined) {
    this.#path = path;
    this.#socket = new Socket({ fd, readable: false, writable: true });
    // Each write reports its own failure.
    this.#socket.on('error', () => {});
    this.#signal = signal;
    signal?.addEventListener('abort', this.#aborted, { once: true });
  }

  /** Rejects with `WRITE_FAILED`, also if nobody reads from the pipe in time, or `ABORTED`. */
  static async open(
    path: string,
    { signal, readerWait = READER_WAIT_MS }: PipeOptions = {},
  ): Promise<PipeSink> {
    const end = performance.now() + readerWait;
    for (;;) {
      throwIfAborted(signal, `waiting for a reader of ${path}`);
      const fd = await openDescriptor(path, constants.O_WRONLY | constants.O_NONBLOCK).catch(
        (cause: NodeJS.ErrnoException) => (cause.code === 'ENXIO' ? undefined : writeFailed(path, cause)),
      );
      if (fd !== undefined) return new PipeSink(path, fd, signal);
      if (performance.now() >= end) {
        writeFailed(path, new Error('nobody reads from this pipe: start its reader first, or name a file'));
      }
      // An abort is told of above.
      await setTimeout(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
    }
  }

  write(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#socket.write(bytes, (cause) => {
        try {
          // What an abort cuts short is called back without an error.
          throwIfAborted(this.#signal, `writing ${this.#path}`);
          if (!cause) return resolve();
          const hasLeft = (cause as NodeJS.ErrnoException).code === 'EPIPE';
          writeFailed(this.#path, hasLeft ? new Error('its reader has ended', { cause }) : cause);
        } catch (error) {
          reject(error as Error);
        }
      });
    });
  }

  async dispose(): Promise<void> {
    this.#signal?.removeEventListener('abort', this.#aborted);
    if (this.#socket.closed) return;
    const closed = new Promise<void>((resolve) => this.#socket.once('close', () => resolve()));
    this.#socket.destroy();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }
}
