/** The longest time that a timer takes; with more it fires at once. */
const MAX_MS = 2 ** 31 - 1;

/** Seconds as a timer takes them: no more than about 24 days. */
export function timerSpan(seconds: number): number {
  return Math.min(seconds * 1000, MAX_MS);
}
