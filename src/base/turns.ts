import { throwIfAborted } from './errors.ts';

/**
 * Long work of the main thread that pauses again and again, so that whoever runs it may let others have a turn: a
 * millisecond or two lies between two pauses, tens where a text of many megabytes is searched or copied.
 */
export type Steps<T = void> = Generator<undefined, T, void>;

/** How long all such work together goes on before others have their turn. */
const TURN_MS = 2;

/** Those whose work goes on at a later turn, one a turn. */
const waiting: (() => void)[] = [];

/** Milliseconds that such work has taken since others had their turn. */
let spent = 0;
let isTurnDue = false;

/** Does the work at once. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/**
 * Does the work in turns with whatever else the thread has to do; of several such works, only one has each turn, so that the
 * others wait no longer for many than for one. Rejects with `ABORTED` when the signal fires.
 */
export async function inTurns<T>(steps: Steps<T>, what: string, signal?: AbortSignal): Promise<T> {
  for (;;) {
    if (waiting.length > 0 || spent >= TURN_MS) await new Promise<void>((resolve) => waiting.push(resolve));
    const begin = performance.now();
    try {
      throwIfAborted(signal, what);
      const end = begin + TURN_MS - spent;
      do {
        const { done, value } = steps.next();
        if (done) return value;
      } while (performance.now() < end);
    } finally {
      spent += performance.now() - begin;
      endTurn();
    }
  }
}

/** Lets others have their turn, and then the work that waits the longest: a timer that is set before a turn may run right behind it. */
function endTurn(): void {
  if (isTurnDue) return;
  isTurnDue = true;
  setTimeout(() => {
    isTurnDue = false;
    spent = 0;
    waiting.shift()?.();
  }, 0);
}
