import { RocmforgeError } from '../../base/errors.ts';
import type { ByteChannel } from './byte-channel.ts';
import { foreignText } from './foreign-text.ts';
import { encodeFrame, FRAME, type Frame, type FrameHead } from './frame.ts';
import { FrameReader, type FrameRules, type ReadFrame } from './frame-reader.ts';

/** What a side of a connection expects, besides signs of life. */
export type Expected = Pick<FrameRules, 'textLimit' | 'admit' | 'take'>;

/** Signs of life in the shorter deadline: a few may be late, or a turn of the event loop long. */
const TICKS = 4;

/**
 * Frames over a channel. Both sides send signs of life; one that is silent for the deadline has hung, or the network between them is
 * cut, and the connection ends, as it does for what is no frame that is expected. It ends once.
 */
export class Connection {
  /** Resolves with the reason when the connection has ended, whoever ended it; never rejects. */
  readonly ended: Promise<Error>;
  readonly address: string;
  readonly #channel: ByteChannel;
  readonly #reader: FrameReader;
  #stopTicking: () => void = () => {};
  #end: (reason: Error) => void = () => {};
  #reason: Error | undefined;
  #closing: Promise<void> | undefined;
  /** Ticks since something arrived. */
  #quiet = 0;
  #isPaused = false;

  constructor(channel: ByteChannel, expected: Expected) {
    this.address = channel.address;
    this.#channel = channel;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#reader = new FrameReader(this.#rulesFor(expected));
    channel.onBytes((bytes) => {
      this.#quiet = 0;
      this.#reader.push(bytes);
    });
    channel.onEnd((why) => this.lose(why));
  }

  /** The reason for which it ended; undefined as long as it stands. */
  get reason(): Error | undefined {
    return this.#reason;
  }

  /** Frames behind the one that is being taken are expected to be like this. */
  expect(expected: Expected): void {
    this.#reader.changeRules(this.#rulesFor(expected));
  }

  /**
   * Sends signs of life from now on, and ends when the other side has sent nothing for so many milliseconds. That one waits `theirs`:
   * signs are as frequent as the shorter of both needs them.
   */
  watch(deadline: number, theirs: number): void {
    if (this.#reason) return;
    const interval = Math.min(deadline, theirs) / TICKS;
    this.#quiet = 0;
    this.#stopTicking = this.#channel.every(interval, () => this.#tick(deadline, interval));
  }

  /** Sends a frame; does nothing once the connection has ended. */
  send(frame: Frame): void {
    if (!this.#reason) this.#channel.write(encodeFrame(frame));
  }

  /** Resolves when what was sent before has left; undefined if it has already. Never rejects. */
  flushed(): Promise<void> | undefined {
    return this.#reason ? undefined : this.#channel.flushed();
  }

  /** Whether it keeps the process alive. */
  hold(held: boolean): void {
    if (!this.#reason) this.#channel.hold(held);
  }

  /** Ends it because the other side cannot be used any more. */
  lose(why: string): void {
    void this.close(new RocmforgeError('DEVICE_LOST', { device: this.address, why }));
  }

  /** Ends it; `reason` is what whoever still waits is told. Resolves when nothing is left of it. */
  close(reason: Error): Promise<void> {
    if (this.#closing) return this.#closing;
    this.#reason = reason;
    this.#stopTicking();
    this.#reader.end();
    this.#closing = this.#channel.close();
    this.#end(reason);
    return this.#closing;
  }

  #tick(deadline: number, interval: number): void {
    this.send({ kind: FRAME.alive });
    // Who does not read cannot hear.
    this.#quiet = this.#isPaused ? 0 : this.#quiet + 1;
    if (this.#quiet * interval > deadline) this.lose(`it was silent for ${deadline / 1000} s`);
  }

  #rulesFor({ textLimit, admit, take }: Expected): FrameRules {
    const isAlive = ({ kind }: FrameHead) => kind === FRAME.alive;
    return {
      textLimit: (head) => (isAlive(head) ? 0 : textLimit(head)),
      admit: (head) => (isAlive(head) ? unexpected(head) : admit(head)),
      take: (frame: ReadFrame) => (isAlive(frame) ? undefined : take(frame)),
      pause: (paused) => {
        this.#isPaused = paused;
        this.#channel.pause(paused);
      },
      refuse: (why) => this.lose(`the protocol was broken: ${foreignText(why)}`),
    };
  }
}

/** Throws for a frame that nobody waits for, or that may not have data. */
export function unexpected({ kind, dataBytes }: FrameHead): never {
  throw new RangeError(`frame ${kind} with ${dataBytes} bytes of data is not expected`);
}
