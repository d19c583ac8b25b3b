/** Lets one holder through at a time, in the order of asking. */
export class Turnstile {
  #last: Promise<void> = Promise.resolve();

  /** Resolves, when it is the caller's turn, with what ends the turn. */
  async enter(): Promise<() => void> {
    const before = this.#last;
    let leave = (): void => {};
    this.#last = new Promise((resolve) => {
      leave = resolve;
    });
    await before;
    return leave;
  }
}
