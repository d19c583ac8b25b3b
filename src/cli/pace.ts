/** The rate over the last seconds is what people expect to go on. */
const PACE_SECONDS = 5;

/** How fast work goes: bytes, chunks, rounds. */
export class Pace {
  readonly #seen: { readonly count: number; readonly seconds: number }[] = [];

  /** The rate per second at `count`; undefined at first. */
  at(count: number): number | undefined {
    const seconds = performance.now() / 1000;
    const last = this.#seen.at(-1);
    // Bytes that were here before, or that are checked again, did not arrive.
    if (last && count < last.count) this.#seen.length = 0;
    if (!last || seconds - last.seconds > 0.1 || count < last.count) this.#seen.push({ count, seconds });
    while (this.#seen.length > 2 && seconds - (this.#seen[1]?.seconds ?? 0) > PACE_SECONDS)
      this.#seen.shift();
    const [first] = this.#seen;
    const elapsed = seconds - (first?.seconds ?? seconds);
    return first && elapsed > 0.5 ? (count - first.count) / elapsed : undefined;
  }

  /** `, 1:05 left` after `done` of `all`; empty at first and at the end. */
  text(done: number, all: number): string {
    const rate = this.at(done);
    return rate === undefined || rate <= 0 || done >= all ? '' : `, ${timeText((all - done) / rate)} left`;
  }
}

/** `1:05`, `2:01:05`. */
export function timeText(time: number): string {
  const seconds = Math.ceil(time);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const two = (count: number) => String(count).padStart(2, '0');
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}
