import { throwIfAborted } from './errors.ts';

/**
 * Long work of the main thread that pauses again and again, so that whoever runs it may let others have a turn: a
 * millisecond or two lies between two pauses, tens where a text of many megabytes is searched or copied.
 */
export type Steps<T = void> = Generator<undefined, T, void>;

/** How long such work goes on before others have their turn. */
const TURN_MS = 5;

/** Does the work at once. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Does the work in turns with whatever else the thread has to do. Rejects with `ABORTED` when the signal fires. */
export async function inTurns<T>(steps: Steps<T>, what: string, signal?: AbortSignal): Promise<T> {
  for (;;) {
    throwIfAborted(signal, what);
    const end = performance.now() + TURN_MS;
    do {
      const { done, value } = steps.next();
      if (done) return value;
    } while (performance.now() < end);
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}
