import type { Socket } from 'node:net';
import type { ByteChannel } from '../devices/remote/index.ts';

/** What a channel over a socket can be given. */
export interface SocketChannelOptions {
  /** Where the other side is, for messages. */
  readonly address: string;
  /** Why the other side ended the connection, if that can be known; asked when it has. */
  readonly whyEnded?: () => Promise<string | undefined>;
  /** Called with whether the connection keeps the process alive. */
  readonly onHold?: (held: boolean) => void;
  /** Ends what was started for the connection, once that is closed. */
  readonly onClose?: () => Promise<void>;
}

/** Bytes over a TCP socket or a pipe between processes. What is sent in one turn of the event loop leaves together. */
export class SocketChannel implements ByteChannel {
  readonly address: string;
  readonly #socket: Socket;
  readonly #options: SocketChannelOptions;
  readonly #closed: Promise<void>;
  #error: Error | undefined;
  #isCorked = false;
  #closing: Promise<void> | undefined;

  constructor(socket: Socket, options: SocketChannelOptions) {
    this.address = options.address;
    this.#socket = socket;
    this.#options = options;
    socket.setNoDelay(true);
    socket.on('error', (error) => {
      this.#error = error;
    });
    this.#closed = new Promise((resolve) => socket.once('close', () => resolve()));
    // The other side's end is the end: nothing is sent to who does not listen.
    socket.on('end', () => socket.destroy());
  }

  write(parts: readonly Uint8Array[]): void {
    const socket = this.#socket;
    if (socket.destroyed) return;
    if (!this.#isCorked) {
      this.#isCorked = true;
      socket.cork();
      process.nextTick(() => this.#uncork());
    }
    for (const part of parts) socket.write(part);
  }

  flushed(): Promise<void> | undefined {
    const socket = this.#socket;
    this.#uncork();
    // What the system takes at once is not in the socket any more.
    if (!socket.writable || socket.writableLength === 0) return undefined;
    // Called when it was sent, and with an error when the socket ends before.
    return new Promise((resolve) => socket.write(new Uint8Array(0), () => resolve()));
  }

  onBytes(listener: (bytes: Uint8Array) => void): void {
    this.#socket.on('data', listener);
  }

  onEnd(listener: (why: string) => void): void {
    void this.#closed.then(async () => {
      const why = this.#closing ? 'the connection was closed' : await this.#options.whyEnded?.();
      listener(why ?? this.#error?.message ?? 'the connection was cut');
    });
  }

  pause(paused: boolean): void {
    if (paused) this.#socket.pause();
    else this.#socket.resume();
  }

  hold(held: boolean): void {
    if (held) this.#socket.ref();
    else this.#socket.unref();
    this.#options.onHold?.(held);
  }

  every(milliseconds: number, work: () => void): () => void {
    const timer = setInterval(work, milliseconds).unref();
    return () => clearInterval(timer);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #uncork(): void {
    if (!this.#isCorked) return;
    this.#isCorked = false;
    this.#socket.uncork();
  }

  async #close(): Promise<void> {
    const socket = this.#socket;
    socket.ref();
    // What was written before, such as a refusal, still leaves.
    if (!socket.destroyed) socket.end(() => socket.destroy());
    const late = setTimeout(() => socket.destroy(), 500).unref();
    await this.#closed;
    clearTimeout(late);
    await this.#options.onClose?.();
  }
}
