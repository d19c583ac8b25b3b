import { fail, throwIfAborted } from '../base/errors.ts';

/** Limits of a piece of work; all given ones apply. */
export interface FuelOptions {
  /** Units of work: one is roughly the construction of a small language, well under a microsecond. */
  readonly units?: number;
  /** The deadline, in milliseconds of `performance.now()`. */
  readonly deadline?: number;
  readonly signal?: AbortSignal;
  /** Called whenever the work checks the clock, every few milliseconds, to do other work in between. */
  readonly onCheck?: () => void;
}

const UNITS = 20_000_000;
/** The budget for accepting a token or computing a mask: a tenth of a second or two. */
const TOKEN_UNITS = 250_000;
/** Units between two checks of the clock. */
const UNITS_PER_CHECK = 4096;

/**
 * The remaining budget of a piece of work. Everything that processes a grammar spends it step by step, so that no
 * pattern, whatever it is, can block a thread: `spend` throws `GRAMMAR_TOO_COSTLY` when it is used up or the deadline
 * has passed, and `ABORTED` when the signal has fired.
 */
export class Fuel {
  readonly #what: string;
  readonly #deadline: number;
  readonly #signal: AbortSignal | undefined;
  readonly #onCheck: (() => void) | undefined;
  #left: number;
  #unitsUntilCheck = UNITS_PER_CHECK;

  /** `what` names the work in the error: "the pattern", "the mask of the next token". */
  constructor(what: string, { units = UNITS, deadline = Infinity, signal, onCheck }: FuelOptions = {}) {
    this.#what = what;
    this.#left = units;
    this.#deadline = deadline;
    this.#signal = signal;
    this.#onCheck = onCheck;
  }

  spend(units: number): void {
    this.#left -= units;
    this.#unitsUntilCheck -= units;
    if (this.#left < 0) fail('GRAMMAR_TOO_COSTLY', { what: this.#what, reason: 'it takes too much work' });
    if (this.#unitsUntilCheck < 0) this.#check();
  }

  /** Throws `GRAMMAR_TOO_COSTLY` for this work with another reason. */
  refuse(reason: string): never {
    return fail('GRAMMAR_TOO_COSTLY', { what: this.#what, reason });
  }

  #check(): void {
    this.#unitsUntilCheck = UNITS_PER_CHECK;
    this.#onCheck?.();
    throwIfAborted(this.#signal, this.#what);
    if (performance.now() > this.#deadline) this.refuse('it takes too long');
  }
}

/** The budget for one token of a text: neither the generation nor others on the thread can wait longer. */
export function tokenFuel(what: string): Fuel {
  return new Fuel(what, { units: TOKEN_UNITS });
}
