import type { TextChunk, TextEnd, TextSource } from '../engine/text-stream.ts';
import { TokenQueue } from '../engine/token-queue.ts';
import type { CallClient } from './calls/call-client.ts';
import type { ChatCall, GenerateCall } from './engine-calls.ts';

/** Text as the engine's worker generates it. */
export function remoteText(
  client: CallClient,
  call: ChatCall | GenerateCall,
  signal: AbortSignal | undefined,
): TextSource {
  return async function* (complete) {
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
