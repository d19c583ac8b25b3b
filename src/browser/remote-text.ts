import type { CallHandle, CallListener } from '../calls/index.ts';
import type { TextChunk, TextEnd, TextSource } from '../engine/text-stream.ts';
import { TokenQueue } from '../runtime/token-queue.ts';

/** Text as the engine's worker generates it, from a call that `begin` begins. */
export function remoteText<C extends TextChunk>(
  begin: (listener: CallListener<C, TextEnd | undefined>) => CallHandle,
): TextSource<C> {
  return async function* (complete) {
    // The worker sends no more than it has credit for, so that the queue needs no bound of its own.
    const queue = new TokenQueue<C, TextEnd>(Number.POSITIVE_INFINITY);
    const calling = begin({
      value: (chunk) => queue.push(chunk),
      done: (end) => queue.end(end as TextEnd),
      failed: (error) => queue.fail(error),
    });
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
