import { decodeHead, type FrameHead, HEAD_BYTES } from './frame.ts';

/** A frame that has arrived. */
export interface ReadFrame extends FrameHead {
  /** What stood in the text; undefined without one. */
  readonly text: unknown;
  readonly data: Uint8Array;
}

/** What frames may be like, and what becomes of them. */
export interface FrameRules {
  /** Maximum bytes of the text of such a frame. Throws for a frame that is not expected. */
  textLimit(head: FrameHead): number;
  /** Memory for the data of a frame, of exactly as many bytes. Throws if it is not expected to have as many. */
  admit(head: FrameHead): Uint8Array;
  /** Takes a frame; those behind it wait until its promise has resolved. */
  take(frame: ReadFrame): void | Promise<void>;
  /** Called while frames wait, so that no more of them arrive. */
  pause(paused: boolean): void;
  /** Called once for what is no frame, or none that is expected; nothing is read after that. */
  refuse(why: string): void;
}

const NO_BYTES = new Uint8Array(0);

/** Puts frames together from bytes as they arrive. What a frame says of its size is checked before there is memory for it. */
export class FrameReader {
  #rules: FrameRules;
  readonly #head = new Uint8Array(HEAD_BYTES);
  #current: FrameHead | undefined;
  #text: Uint8Array = NO_BYTES;
  #data: Uint8Array = NO_BYTES;
  /** Bytes of the frame that are there. */
  #filled = 0;
  #waiting: Uint8Array[] = [];
  #isTaking = false;
  #ended = false;

  constructor(rules: FrameRules) {
    this.#rules = rules;
  }

  /** From the next frame on; called while the one before is taken. */
  changeRules(rules: FrameRules): void {
    this.#rules = rules;
  }

  /** Reads no more. */
  end(): void {
    this.#ended = true;
    this.#waiting = [];
  }

  push(bytes: Uint8Array): void {
    if (this.#ended) return;
    this.#waiting.push(bytes);
    if (!this.#isTaking) this.#read();
  }

  #read(): void {
    try {
      for (let bytes = this.#waiting[0]; bytes; bytes = this.#waiting[0]) {
        const used = this.#fill(bytes);
        if (used < bytes.byteLength) this.#waiting[0] = bytes.subarray(used);
        else this.#waiting.shift();
        const taking = this.#isWhole() ? this.#take() : undefined;
        if (taking) return this.#wait(taking);
      }
    } catch (error) {
      this.#refuse(error);
    }
  }

  #wait(taking: Promise<void>): void {
    this.#isTaking = true;
    this.#rules.pause(true);
    const goOn = () => {
      this.#isTaking = false;
      if (this.#ended) return;
      this.#rules.pause(false);
      this.#read();
    };
    taking.then(goOn, (error: unknown) => this.#refuse(error));
  }

  #refuse(error: unknown): void {
    if (this.#ended) return;
    this.end();
    this.#rules.refuse(error instanceof Error ? error.message : String(error));
  }

  /** Takes bytes of the piece that is being read; returns how many. */
  #fill(bytes: Uint8Array): number {
    const [piece, before] = this.#piece();
    const at = this.#filled - before;
    const count = Math.min(bytes.byteLength, piece.byteLength - at);
    piece.set(bytes.subarray(0, count), at);
    this.#filled += count;
    if (this.#filled === HEAD_BYTES && !this.#current) this.#begin();
    return count;
  }

  /** What is being filled, and how many bytes of the frame are before it. */
  #piece(): readonly [Uint8Array, number] {
    if (!this.#current) return [this.#head, 0];
    const textEnd = HEAD_BYTES + this.#text.byteLength;
    return this.#filled < textEnd ? [this.#text, HEAD_BYTES] : [this.#data, textEnd];
  }

  #begin(): void {
    const head = decodeHead(this.#head);
    if (!head) throw new RangeError('what it sent is no frame of this protocol');
    const limit = this.#rules.textLimit(head);
    if (head.textBytes > limit) {
      throw new RangeError(
        `frame ${head.kind} has a text of ${head.textBytes} bytes, at most ${limit} are expected`,
      );
    }
    this.#data = head.dataBytes > 0 ? this.#rules.admit(head) : NO_BYTES;
    this.#text = head.textBytes > 0 ? new Uint8Array(head.textBytes) : NO_BYTES;
    this.#current = head;
  }

  #isWhole(): boolean {
    const whole = HEAD_BYTES + this.#text.byteLength + this.#data.byteLength;
    return this.#current !== undefined && this.#filled === whole;
  }

  #take(): void | Promise<void> {
    const head = this.#current as FrameHead;
    const data = this.#data;
    const text: unknown =
      head.textBytes > 0
        ? JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(this.#text))
        : undefined;
    this.#current = undefined;
    this.#filled = 0;
    this.#text = NO_BYTES;
    this.#data = NO_BYTES;
    return this.#rules.take({ ...head, text, data });
  }
}
