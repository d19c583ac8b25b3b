import { throwIfAborted } from './errors.ts';

/** The promise's outcome, or `ABORTED` as soon as the signal fires; the work itself goes on for others. */
export function beforeAbort<T>(work: Promise<T>, signal: AbortSignal | undefined, what: string): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      try {
        throwIfAborted(signal, what);
      } catch (error) {
        reject(error as Error);
      }
    };
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
