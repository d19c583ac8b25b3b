import type { Output } from './output.ts';
import { Pace } from './pace.ts';

/** Shows on a terminal which round of which test is measured, and how long the test will take yet. */
export class RoundProgress {
  readonly #output: Output;
  readonly #tests: number;
  #test = 0;
  #name = '';
  #pace = new Pace();

  /** `tests` is how many there are. */
  constructor(output: Output, tests: number) {
    this.#output = output;
    this.#tests = tests;
  }

  /** A round begins, the first of which is a warm-up. */
  show(name: string, round: number, rounds: number): void {
    if (name !== this.#name) {
      this.#name = name;
      this.#test++;
      this.#pace = new Pace();
    }
    const left = this.#pace.text(round, rounds);
    const which = round === 0 ? 'warm-up' : `round ${round} of ${rounds - 1}`;
    this.#draw(`${name} (${this.#test} of ${this.#tests}): ${which}${left}`);
  }

  /** Leaves the line to others. */
  clear(): void {
    this.#draw('');
  }

  #draw(text: string): void {
    if (this.#output.bars) this.#output.stderr.write(`\r\u001b[K${text}`);
  }
}
