import type { Value } from './values.ts';

/** Variables, and the scope in which others are looked up. */
export class Scope {
  readonly #variables = new Map<string, Value>();
  readonly #outer: Scope | undefined;

  constructor(outer?: Scope) {
    this.#outer = outer;
  }

  get(name: string): Value | undefined {
    const value = this.#variables.get(name);
    return value === undefined ? this.#outer?.get(name) : value;
  }

  set(name: string, value: Value): void {
    this.#variables.set(name, value);
  }
}
