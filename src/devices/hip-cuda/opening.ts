/** Lets callers wait for a device to be opened. */
export class Opening {
  /** Resolves when the device can be used; rejects with the reason if it never can. */
  readonly opened: Promise<void>;
  /** Whether the driver has initialized the device, which then has to be released. */
  isRetained = false;
  #succeed: () => void = () => {};
  #fail: (reason: Error) => void = () => {};

  constructor() {
    this.opened = new Promise((resolve, reject) => {
      this.#succeed = resolve;
      this.#fail = reject;
    });
    // Not every caller that opens a device also compiles.
    this.opened.catch(() => {});
  }

  succeed(): void {
    this.#succeed();
  }

  /** Has no effect once the outcome is decided. */
  fail(reason: Error): void {
    this.#fail(reason);
  }
}
