import { type Connection, unexpected } from './connection.ts';
import { errorIn } from './error-in.ts';
import { FRAME, type Frame, type FrameHead } from './frame.ts';
import type { ReadFrame } from './frame-reader.ts';
import type { Greeted } from './handshake.ts';
import { RemoteEvent } from './remote-event.ts';

/** Someone who waits for an answer. */
interface Waiting {
  /** Memory for an answer of as many bytes; undefined for one that is a text. */
  readonly into: Uint8Array | undefined;
  resolve(text: unknown): void;
  reject(error: Error): void;
}

/** Bytes of the text of an answer: descriptions of programs are the longest. */
const ANSWER_BYTES = 64 * 2 ** 20;

/**
 * What a remote device asks of the process that has it: orders, requests with answers, and events. It fails all that waits when the
 * connection ends, and keeps the process alive only while something does.
 */
export class RemoteCalls {
  readonly connection: Connection;
  readonly #waiting = new Map<number, Waiting>();
  readonly #events = new Map<number, RemoteEvent>();
  #nextId = 0;
  #isHeld = true;

  constructor({ connection, expect }: Greeted) {
    this.connection = connection;
    void connection.ended.then((reason) => this.#failAll(reason));
    expect({
      textLimit: () => ANSWER_BYTES,
      admit: (head) => this.#memoryFor(head),
      take: (frame) => this.#take(frame),
    });
    this.#holdIfNeeded();
  }

  /** A number for something that both sides name. */
  newId(): number {
    return this.#nextId++;
  }

  /** Throws why the connection has ended, if it has. */
  check(): void {
    const { reason } = this.connection;
    if (reason) throw reason;
  }

  /** Sends what has no answer; errors are those of what depends on it. */
  order(frame: Frame): void {
    this.connection.send(frame);
  }

  /** Sends a frame with the request's number before its operands; resolves with the answer, which may be bytes. */
  request({ operands = [], ...frame }: Frame, into?: Uint8Array): Promise<unknown> {
    const { reason } = this.connection;
    if (reason) return Promise.reject(reason);
    const id = this.newId();
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { into, resolve, reject });
      this.#holdIfNeeded();
      this.connection.send({ ...frame, operands: [id, ...operands] });
    });
  }

  /** An event behind what was sent for a stream. */
  mark(stream: number): RemoteEvent {
    const event = new RemoteEvent(this.newId(), this);
    const { reason } = this.connection;
    if (reason) event.fail(reason);
    else {
      this.#events.set(event.id, event);
      this.#holdIfNeeded();
      this.connection.send({ kind: FRAME.mark, operands: [stream, event.id] });
    }
    return event;
  }

  /** Exactly the memory that someone who waits has for an answer. */
  #memoryFor(head: FrameHead): Uint8Array {
    const [id = -1] = head.operands;
    const into = head.kind === FRAME.answer ? this.#waiting.get(id)?.into : undefined;
    return into?.byteLength === head.dataBytes ? into : unexpected(head);
  }

  #take(frame: ReadFrame): void {
    const { kind, operands, text, dataBytes } = frame;
    const [id = -1, time = 0] = operands;
    if (kind === FRAME.lost) return this.connection.lose(errorIn(text).message);
    if (kind === FRAME.reached || kind === FRAME.missed) {
      const event = this.#events.get(id);
      if (!event) unexpected(frame);
      this.#events.delete(id);
      if (kind === FRAME.reached) event.reach(time);
      else event.fail(errorIn(text));
    } else if (kind === FRAME.answer || kind === FRAME.failed) {
      const waiting = this.#waiting.get(id);
      const isWhole =
        kind === FRAME.failed || waiting?.into === undefined || dataBytes === waiting.into.byteLength;
      if (!waiting || !isWhole) unexpected(frame);
      this.#waiting.delete(id);
      if (kind === FRAME.answer) waiting.resolve(text);
      else waiting.reject(errorIn(text));
    } else unexpected(frame);
    this.#holdIfNeeded();
  }

  #holdIfNeeded(): void {
    const isNeeded = this.#waiting.size > 0 || this.#events.size > 0;
    if (isNeeded === this.#isHeld) return;
    this.#isHeld = isNeeded;
    this.connection.hold(isNeeded);
  }

  #failAll(reason: Error): void {
    for (const { reject } of this.#waiting.values()) reject(reason);
    for (const event of this.#events.values()) event.fail(reason);
    this.#waiting.clear();
    this.#events.clear();
  }
}
