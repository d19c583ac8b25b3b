/**
 * Merges the values of several generators in order of arrival. Each is asked for its next value only when its last one
 * was taken; at most so many run at once, and the next starts when one has ended. All are ended when the merged one is
 * left or one of them fails.
 */
export function mergeStreams<T>(
  streams: readonly AsyncGenerator<T, void>[],
  atOnce: number,
): AsyncGenerator<T, void> {
  const [only] = streams;
  return only && streams.length === 1 ? only : merge(streams, atOnce);
}

async function* merge<T>(
  streams: readonly AsyncGenerator<T, void>[],
  atOnce: number,
): AsyncGenerator<T, void> {
  let started = 0;
  const waiting = new Map<number, Promise<{ index: number; next: IteratorResult<T, void> }>>();
  const ask = (index: number) => {
    const next = (streams[index] as AsyncGenerator<T, void>).next();
    waiting.set(
      index,
      next.then((result) => ({ index, next: result })),
    );
  };
  try {
    while (started < Math.min(streams.length, atOnce)) ask(started++);
    while (waiting.size > 0) {
      const { index, next } = await Promise.race(waiting.values());
      waiting.delete(index);
      if (next.done) {
        if (started < streams.length) ask(started++);
        continue;
      }
      yield next.value;
      ask(index);
    }
  } finally {
    for (const promise of waiting.values()) promise.catch(() => undefined);
    await Promise.allSettled(streams.map((stream) => stream.return()));
  }
}
