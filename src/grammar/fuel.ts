import { fail, throwIfAborted } from '../base/errors.ts';

/** What bounds a piece of work; all that are given hold. */
export interface FuelOptions {
  /** Steps of work: one is roughly the making of one small language, well under a microsecond. */
  readonly units?: number;
  /** When to end, in milliseconds of `performance.now()`. */
  readonly deadline?: number;
  readonly signal?: AbortSignal;
  /** Called whenever the work looks at the clock, every few milliseconds: a place to do other work. */
  readonly onLook?: () => void;
}

const UNITS = 20_000_000;
/** What taking one token or making one mask may cost: a tenth of a second or two. */
const TOKEN_UNITS = 250_000;
/** Units between two looks at the clock. */
const BETWEEN_LOOKS = 4096;

/**
 * What a piece of work may still cost. Whoever works on a grammar spends it step by step, so that no pattern, however it is
 * made, holds a thread: `spend` throws `GRAMMAR_TOO_COSTLY` when it is used up or late, and `ABORTED` when the signal has fired.
 */
export class Fuel {
  readonly #what: string;
  readonly #deadline: number;
  readonly #signal: AbortSignal | undefined;
  readonly #onLook: (() => void) | undefined;
  #left: number;
  #untilLook = BETWEEN_LOOKS;

  /** `what` is named in the error: "the pattern", "the mask of the next token". */
  constructor(what: string, { units = UNITS, deadline = Infinity, signal, onLook }: FuelOptions = {}) {
    this.#what = what;
    this.#left = units;
    this.#deadline = deadline;
    this.#signal = signal;
    this.#onLook = onLook;
  }

  spend(units: number): void {
    this.#left -= units;
    this.#untilLook -= units;
    if (this.#left < 0) fail('GRAMMAR_TOO_COSTLY', { what: this.#what, reason: 'it takes too much work' });
    if (this.#untilLook < 0) this.#look();
  }

  /** Throws `GRAMMAR_TOO_COSTLY` for this work with another reason. */
  refuse(reason: string): never {
    return fail('GRAMMAR_TOO_COSTLY', { what: this.#what, reason });
  }

  #look(): void {
    this.#untilLook = BETWEEN_LOOKS;
    this.#onLook?.();
    throwIfAborted(this.#signal, this.#what);
    if (performance.now() > this.#deadline) this.refuse('it takes too long');
  }
}

/** Fuel for one token of a text: whoever generates cannot wait longer, and whoever shares the thread neither. */
export function tokenFuel(what: string): Fuel {
  return new Fuel(what, { units: TOKEN_UNITS });
}
