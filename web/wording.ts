/** Numbers and their nouns by the rules of a language (Unicode's, as the browser has them). */
export class Wording {
  readonly #language: string;
  readonly #plurals: Intl.PluralRules;

  constructor(language: string) {
    this.#language = language;
    this.#plurals = new Intl.PluralRules(language);
  }

  /** A number with so many digits behind its point. */
  number(value: number, digits = 0): string {
    const format = { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: false };
    return new Intl.NumberFormat(this.#language, format).format(value);
  }

  /** `one` for one, `other` for any other number: the forms of the languages here. */
  form<Form>(count: number, one: Form, other: Form): Form {
    return this.#plurals.select(count) === 'one' ? one : other;
  }

  /** A number and its noun. */
  count(count: number, one: string, other: string): string {
    return `${this.number(count)} ${this.form(count, one, other)}`;
  }

  /** A time: seconds, or minutes if there are many. */
  time(seconds: number): string {
    return seconds < 60 ? `${this.number(seconds, 1)} s` : `${this.number(seconds / 60)} min`;
  }
}
