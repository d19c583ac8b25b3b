import { throwIfAborted } from './errors.ts';

/**
 * Long work on the main thread that pauses regularly, so that its runner can let other work proceed: usually after a
 * millisecond or two, after tens of milliseconds when a text of many megabytes is searched or copied.
 */
export type Steps<T = void> = Generator<undefined, T, void>;

/** How long all such work together may run before other work gets its turn. */
const TURN_MS = 2;

/** Work waiting to resume, one per turn. */
const waiting: (() => void)[] = [];

/** Milliseconds that such work has taken in the current turn. */
let spent = 0;
/** When the turn of those that wait ends, on the clock of `performance.now()`. */
let turnEnd = 0;
let isTurnDue = false;

/** Runs the work without pausing. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/**
 * Runs the work in slices between the thread's other work; of several, as many run per turn as end within the time of one,
 * so that other work does not wait longer for many than for one. Rejects with `ABORTED` when the signal fires.
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
      const now = performance.now();
      spent += now - begin;
      if (spent < TURN_MS && now < turnEnd) waiting.shift()?.();
      endTurn();
    }
  }
}

/**
 * Lets other work proceed, then resumes the work that has waited longest, behind which others follow while there is time: a
 * timer set before a turn may run right after it.
 */
function endTurn(): void {
  if (isTurnDue) return;
  isTurnDue = true;
  setTimeout(() => {
    isTurnDue = false;
    spent = 0;
    turnEnd = performance.now() + TURN_MS;
    waiting.shift()?.();
  }, 0);
}
