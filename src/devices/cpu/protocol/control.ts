import type { WasmMemory } from '../../../base/web-types.ts';

/**
 * The block of shared memory through which host and workers communicate, in 32-bit words. Words written by different
 * threads are a cache line apart. Sequence numbers count commands, wrap at 2^32 and are compared by difference.
 */

const LINE = 16;

/** Maximum workers of a control block. */
export const MAX_WORKERS = 256;

/** Offsets of the words. */
export const WORD = {
  /** Number of the last command that the host has written into the ring. Workers wait on it while none runs. */
  submitted: 0,
  /** Number of the last command completed. */
  completed: LINE,
  /** The host requests a message once `completed` has reached this number. */
  wanted: 2 * LINE,
  /** Number of the last command started, which is `completed` while none runs. */
  running: 3 * LINE,
  /** The open phase: its command, its place in it and the number of its chunks. */
  command: 4 * LINE,
  phase: 4 * LINE + 1,
  chunks: 4 * LINE + 2,
  /** Number of its chunks that nobody has taken; none if it is not positive. */
  left: 5 * LINE,
  /** Number of its chunks that are done. */
  reported: 6 * LINE,
  /** Changes after chunks become available and after each command. Workers without a chunk wait on it. */
  generation: 7 * LINE,
  /** Number of workers that sleep on `generation` and must be notified. */
  sleepers: 8 * LINE,
  /** One word per worker: `ASLEEP` while it waits for messages instead of `submitted`. */
  states: 9 * LINE,
  /** One word per worker: the number of announcements that it has read. */
  heard: 9 * LINE + MAX_WORKERS,
} as const;

/**
 * A worker that has returned to its event loop and needs a message to continue, or one that sees new commands by
 * itself.
 */
export const ASLEEP = 0;
export const AWAKE = 1;

/** Maximum commands in flight. A power of two. */
export const RING_ENTRIES = 256;

/** Words of a command: its kind and its operands. */
export const COMMAND_WORDS = 16;

const RING_AT = WORD.heard + MAX_WORKERS;
const TIMES_AT = RING_AT + RING_ENTRIES * COMMAND_WORDS;

/** Bytes of a page of WebAssembly's memory. */
const PAGE = 65_536;

/** A number that `completed` will not reach soon, which means that no message is requested. */
const FAR = 2 ** 30;

export class ControlBlock {
  readonly words: Int32Array;
  readonly #times: Float64Array;

  constructor(readonly memory: SharedArrayBuffer) {
    this.words = new Int32Array(memory, 0, TIMES_AT);
    this.#times = new Float64Array(memory, TIMES_AT * 4, RING_ENTRIES);
  }

  static create(): ControlBlock {
    const block = new ControlBlock(sharedMemory(TIMES_AT * 4 + RING_ENTRIES * 8));
    block.words[WORD.wanted] = FAR;
    return block;
  }

  /** Number of the last command completed. */
  get completed(): number {
    return Atomics.load(this.words, WORD.completed);
  }

  /** The words of command `sequence`, which it shares with all commands `RING_ENTRIES` apart. */
  command(sequence: number): Int32Array {
    const at = RING_AT + (sequence & (RING_ENTRIES - 1)) * COMMAND_WORDS;
    return this.words.subarray(at, at + COMMAND_WORDS);
  }

  /**
   * Time at which command `sequence` completed, in milliseconds since the epoch; valid until its ring entry is reused.
   */
  timeOf(sequence: number): number {
    return this.#times[sequence & (RING_ENTRIES - 1)] as number;
  }

  /** Marks a command as completed; returns whether the host requested a message, once per request. */
  complete(sequence: number): boolean {
    this.#times[sequence & (RING_ENTRIES - 1)] = performance.timeOrigin + performance.now();
    Atomics.store(this.words, WORD.completed, sequence);
    const wanted = Atomics.load(this.words, WORD.wanted);
    if (!reached(sequence, wanted)) return false;
    return Atomics.compareExchange(this.words, WORD.wanted, wanted, (sequence + FAR) | 0) === wanted;
  }

  /** Requests a message when `sequence` is done; false if it is already done and no message may come. */
  want(sequence: number): boolean {
    Atomics.store(this.words, WORD.wanted, sequence);
    return !reached(Atomics.load(this.words, WORD.completed), sequence);
  }
}

/** Pages that may not share memory with workers have no `SharedArrayBuffer`, but WebAssembly's, which is one. */
function sharedMemory(byteLength: number): SharedArrayBuffer {
  if (typeof SharedArrayBuffer === 'function') return new SharedArrayBuffer(byteLength);
  const pages = Math.ceil(byteLength / PAGE);
  const { buffer }: WasmMemory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
  return buffer as ArrayBufferLike as SharedArrayBuffer;
}

/** Whether a sequence number is at or past another one. */
export function reached(sequence: number, goal: number): boolean {
  return ((sequence - goal) | 0) >= 0;
}
