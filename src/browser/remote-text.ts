import type { TextChunk, TextEnd, TextSource } from '../engine/text-stream.ts';
import { TokenQueue } from '../engine/token-queue.ts';
import type { CallClient } from './calls/call-client.ts';
import type { ChatCall, GenerateCall } from './engine-calls.ts';

/** Text as the engine's worker generates it. */
export function remoteText<C extends TextChunk>(
  client: CallClient,
  call: ChatCall | GenerateCall,
  signal: AbortSignal | undefined,
): TextSource<C> {
  return async function* (complete) {
    // The worker sends no more than it has credit for, so that the queue needs no bound of its own.
    const queue = new TokenQueue<C, TextEnd>(Number.POSITIVE_INFINITY);
    const calling = client.begin(
      call,
      {
        value: (chunk) => queue.push(chunk as C),
        done: (end) => queue.end(end as TextEnd),
        failed: (error) => queue.fail(error),
      },
      signal,
    );
    try {
      for (;;) {
        const next = await queue.read();
        if ('end' in next) {
          complete(next.end);
          return;
        }
        calling.more();
        yield next.value;
      }
    } finally {
      calling.leave();
    }
  };
}
