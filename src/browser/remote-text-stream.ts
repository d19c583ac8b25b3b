import { invariant } from '../base/errors.ts';
import type { TextChunk, TextEnd } from '../engine/text-stream.ts';
import { TokenQueue } from '../engine/token-queue.ts';
import type { CallClient } from './calls/call-client.ts';
import type { ChatCall, GenerateCall } from './engine-calls.ts';

/**
 * Text as the engine's worker generates it, as `TextStream` gives it: iterate it once for chunks, or await `text()`; nothing
 * runs before. Leaving the iteration early stops the generation. `end` is there when the text is complete.
 */
export class RemoteTextStream implements AsyncIterable<TextChunk> {
  readonly #chunks: AsyncGenerator<TextChunk, void>;
  #end: TextEnd | undefined;

  constructor(client: CallClient, call: ChatCall | GenerateCall, signal: AbortSignal | undefined) {
    this.#chunks = this.#run(client, call, signal);
  }

  [Symbol.asyncIterator](): AsyncGenerator<TextChunk, void> {
    return this.#chunks;
  }

  /** The whole text. */
  async text(): Promise<string> {
    let text = '';
    for await (const chunk of this) text += chunk.text;
    return text;
  }

  /** Why the text ended and what it took; throws while it has not. */
  get end(): TextEnd {
    invariant(this.#end, 'a text stream is read to its end before its end is asked for');
    return this.#end;
  }

  async *#run(
    client: CallClient,
    call: ChatCall | GenerateCall,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<TextChunk, void> {
    // The worker sends no more than it has credit for, so that the queue needs no bound of its own.
    const queue = new TokenQueue<TextChunk, TextEnd>(Number.POSITIVE_INFINITY);
    const calling = client.begin(
      call,
      {
        value: (chunk) => queue.push(chunk as TextChunk),
        done: (end) => queue.end(end as TextEnd),
        failed: (error) => queue.fail(error),
      },
      signal,
    );
    try {
      for (;;) {
        const next = await queue.read();
        if ('end' in next) {
          this.#end = next.end;
          return;
        }
        calling.more();
        yield next.value;
      }
    } finally {
      calling.leave();
    }
  }
}
