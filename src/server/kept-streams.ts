import { RocmforgeError } from '../base/errors.ts';

/** Maximum streams that are kept at the same time, and bytes of each. */
const MAX_STREAMS = 32;
const MAX_BYTES = 4 * 2 ** 20;

/** Milliseconds for which a stream is kept behind its end. */
const KEPT_MS = 10 * 60 * 1000;

/** The header by which a client names a stream. */
const HEADER = 'x-conversation-id';
const NAME = /^[\x21-\x7e]{1,256}$/;

/** The state of a stream: its request has not been answered, its events come, or all of them have come. */
type StreamState = 'waiting' | 'open' | 'ended';

/** The request of a stream. */
interface StreamRequest {
  readonly request: Request;
  readonly caller: { readonly owner: string };
  abort(): void;
}

/**
 * A stream that goes on when its client leaves, and that can be read again. It keeps its last bytes: readers that are
 * further behind lose it.
 */
export class KeptStream {
  #state: StreamState = 'waiting';
  #isCancelled = false;
  #chunks: Uint8Array[] = [];
  /** Bytes that are no longer kept, and those that are. */
  #dropped = 0;
  #held = 0;
  #wake: () => void = () => {};
  #news = this.#next();
  readonly #abort: () => void;

  /** `abort` ends the request. */
  constructor(abort: () => void) {
    this.#abort = abort;
  }

  /** When it ended, on the clock of `performance.now()`. */
  endedAt: number | undefined;

  get state(): StreamState {
    return this.#state;
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** Whether it still has the byte at an offset. */
  has(offset: number): boolean {
    return offset >= this.#dropped && offset <= this.#dropped + this.#held;
  }

  write(bytes: Uint8Array): void {
    if (this.#state === 'ended') return;
    this.#state = 'open';
    this.#chunks.push(bytes);
    this.#held += bytes.length;
    while (this.#held > MAX_BYTES) {
      const { length } = this.#chunks.shift() as Uint8Array;
      this.#held -= length;
      this.#dropped += length;
    }
    this.#tell();
  }

  end(): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.endedAt = performance.now();
    this.#tell();
  }

  /** Ends its request, and its readers at once. */
  cancel(): void {
    this.#isCancelled = true;
    this.end();
    this.#abort();
  }

  /** Its bytes from an offset on, as they come. Rejects with `STREAM_LOST` for a reader that is too far behind. */
  async *read(from: number): AsyncGenerator<Uint8Array, void> {
    for (let at = from; ;) {
      if (at < this.#dropped) throw new RocmforgeError('STREAM_LOST', { offset: at, first: this.#dropped });
      const news = this.#news;
      const bytes = this.#bytesAt(at);
      if (bytes) {
        at += bytes.length;
        yield bytes;
      } else if (this.#state === 'ended') return;
      else await news;
    }
  }

  /** The rest of the chunk with the byte at an offset. */
  #bytesAt(offset: number): Uint8Array | undefined {
    let begin = this.#dropped;
    for (const chunk of this.#chunks) {
      if (offset < begin + chunk.length) return chunk.subarray(offset - begin);
      begin += chunk.length;
    }
    return undefined;
  }

  #tell(): void {
    this.#wake();
    this.#news = this.#next();
  }

  #next(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** The streams whose clients may come back, by the names that these gave and the keys of their requests. */
export class KeptStreams {
  readonly #streams = new Map<string, KeptStream>();

  /**
   * Keeps the stream of a request that names it, in the place of an earlier one of that name, which is cancelled;
   * undefined if the request names none, or too many streams are going on.
   */
  begin(call: StreamRequest): KeptStream | undefined {
    const name = call.request.headers.get(HEADER) ?? '';
    if (!NAME.test(name)) return undefined;
    this.cancel(call.caller.owner, name);
    this.#expire();
    this.#makeRoom();
    if (this.#streams.size >= MAX_STREAMS) return undefined;
    const stream = new KeptStream(() => call.abort());
    this.#streams.set(keyOf(call.caller.owner, name), stream);
    return stream;
  }

  find(owner: string, name: string): KeptStream | undefined {
    this.#expire();
    return this.#streams.get(keyOf(owner, name));
  }

  /** Ends a stream and its request, if there is one. */
  cancel(owner: string, name: string): void {
    const key = keyOf(owner, name);
    this.#streams.get(key)?.cancel();
    this.#streams.delete(key);
  }

  /** Forgets a stream whose request failed before it began. */
  forget(stream: KeptStream): void {
    for (const [key, of] of this.#streams) if (of === stream) this.#streams.delete(key);
  }

  #expire(): void {
    const now = performance.now();
    for (const [key, { endedAt }] of this.#streams) {
      if (endedAt !== undefined && now - endedAt > KEPT_MS) this.#streams.delete(key);
    }
  }

  /** If there is no room, forgets the stream that ended first of the owner who has the most: nobody can displace others' alone. */
  #makeRoom(): void {
    if (this.#streams.size < MAX_STREAMS) return;
    const ended = [...this.#streams].filter(([, { endedAt }]) => endedAt !== undefined);
    const counts = new Map<string, number>();
    for (const key of this.#streams.keys()) counts.set(ownerOf(key), (counts.get(ownerOf(key)) ?? 0) + 1);
    const countOf = ([key]: readonly [string, KeptStream]) => counts.get(ownerOf(key)) ?? 0;
    const [first] = ended.sort(
      (one, other) => countOf(other) - countOf(one) || (one[1].endedAt ?? 0) - (other[1].endedAt ?? 0),
    );
    if (first) this.#streams.delete(first[0]);
  }
}

/** Owners' names have no spaces. */
function ownerOf(key: string): string {
  return key.slice(0, key.indexOf(' '));
}

function keyOf(owner: string, name: string): string {
  return `${owner} ${name}`;
}
