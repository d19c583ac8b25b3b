/** The maximum delay of a timer; anything longer fires immediately. */
const MAX_MS = 2 ** 31 - 1;

/** Seconds as milliseconds for a timer, limited to about 24 days. */
export function timerSpan(seconds: number): number {
  return Math.min(seconds * 1000, MAX_MS);
}
