import type { Language } from './language-kinds.ts';
import type { Languages } from './languages.ts';

/**
 * The progress through a numeral: nothing read, or before the point; values from 0 on count the digits after the point.
 */
const NOTHING = -2;
const WHOLE = -1;

const POINT = 0x2e;
const ZERO = 0x30;

interface Definition {
  readonly step: bigint;
  readonly scale: number;
}

/**
 * Numerals that are multiples of `step / 10^scale`, as languages whose derivatives are computed by long division: the
 * state is the remainder of the digits so far. After the point the remainder is in units of `10^-scale`, and digits
 * beyond that position must be zeros.
 */
export class Multiples {
  readonly #languages: Languages;
  readonly #definitions: Definition[] = [];
  readonly #remainders: bigint[] = [];
  readonly #remainderIds = new Map<bigint, number>();
  readonly #digits: number;
  readonly #point: number;

  constructor(languages: Languages) {
    this.#languages = languages;
    this.#digits = languages.sets.ofRanges([ZERO, ZERO + 9]);
    this.#point = languages.sets.of([POINT]);
  }

  /** `step` must be positive and `scale` not negative. */
  language(step: bigint, scale: number): Language {
    let at = this.#definitions.findIndex((known) => known.step === step && known.scale === scale);
    if (at < 0) at = this.#definitions.push({ step, scale }) - 1;
    return this.#state(at, NOTHING, 0n);
  }

  /** The derivative by the byte; narrows `bits` to the bytes with the same derivative. */
  derive(language: Language, byte: number, bits: Int32Array): Language {
    const { sets, never } = this.#languages;
    const at = this.#languages.member(language, 1);
    const digits = this.#languages.member(language, 2);
    const remainder = this.#remainders[this.#languages.member(language, 3)] as bigint;
    const { step, scale } = this.#definitions[at] as Definition;
    const isPoint = sets.narrow(this.#point, byte, bits);
    if (isPoint)
      return digits === WHOLE ? this.#state(at, 0, (remainder * 10n ** BigInt(scale)) % step) : never;
    if (!sets.narrow(this.#digits, byte, bits)) return never;
    sets.narrow(sets.of([byte]), byte, bits);
    const digit = BigInt(byte - ZERO);
    if (digits < 0) return this.#state(at, WHOLE, (remainder * 10n + digit) % step);
    if (digits >= scale) return digit === 0n ? this.#state(at, Math.max(1, scale), remainder) : never;
    return this.#state(at, digits + 1, (remainder + digit * 10n ** BigInt(scale - digits - 1)) % step);
  }

  #state(at: number, digits: number, remainder: bigint): Language {
    const { step, scale } = this.#definitions[at] as Definition;
    if (digits >= 0) {
      // The remaining digits can add less than one unit of the last digit read.
      const missing = (step - remainder) % step;
      if (missing >= 10n ** BigInt(Math.max(0, scale - digits))) return this.#languages.never;
    }
    const units = digits === WHOLE ? remainder * 10n ** BigInt(scale) : remainder;
    const accepts = digits !== NOTHING && digits !== 0 && units % step === 0n;
    return this.#languages.multiple(at, digits, this.#remainderId(remainder), accepts);
  }

  #remainderId(remainder: bigint): number {
    const known = this.#remainderIds.get(remainder);
    if (known !== undefined) return known;
    const id = this.#remainders.push(remainder) - 1;
    this.#remainderIds.set(remainder, id);
    return id;
  }
}
