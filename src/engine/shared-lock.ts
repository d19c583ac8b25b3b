/** Lets many holders in together or one alone, in the order of asking: nobody overtakes one who waits to be alone. */
export class SharedLock {
  /** Resolves when everyone who asked before has left. */
  #everyone: Promise<unknown> = Promise.resolve();
  /** Resolves when the last one who asked to be alone has left. */
  #alone: Promise<unknown> = Promise.resolve();

  /** Resolves, when nobody is alone, with what ends the holder's share. */
  share(): Promise<() => void> {
    const before = this.#alone;
    const { left, leave } = stay();
    this.#everyone = Promise.all([this.#everyone, left]);
    return before.then(() => leave);
  }

  /** Resolves, when everybody else has left, with what ends the holder's turn. */
  alone(): Promise<() => void> {
    const before = this.#everyone;
    const { left, leave } = stay();
    this.#everyone = Promise.all([before, left]);
    this.#alone = this.#everyone;
    return before.then(() => leave);
  }
}

function stay(): { left: Promise<void>; leave: () => void } {
  let leave = (): void => {};
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  return { left, leave };
}
