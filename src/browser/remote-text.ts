import type { CallHandle, CallListener } from '../calls/index.ts';
import type { TextChunk, TextEnd, TextSource } from '../engine/text-stream.ts';
import { TokenQueue } from '../runtime/token-queue.ts';

/** Text generated in the engine's worker, by a call that `begin` starts. */
export function remoteText<C extends TextChunk>(
  begin: (listener: CallListener<C, TextEnd | undefined>) => CallHandle,
): TextSource<C> {
  return async function* (complete) {
    // The worker sends only as much as it has credit for, so the queue needs no limit.
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
