/** What waits for a device to be opened. */
export class Opening {
  /** Resolves when the device may be used; rejects with the reason why it never will. */
  readonly opened: Promise<void>;
  /** Whether the driver has readied the device, and wants it back. */
  isRetained = false;
  #succeed: () => void = () => {};
  #fail: (reason: Error) => void = () => {};

  constructor() {
    this.opened = new Promise((resolve, reject) => {
      this.#succeed = resolve;
      this.#fail = reject;
    });
    // Not everybody who opens a device compiles meanwhile.
    this.opened.catch(() => {});
  }

  succeed(): void {
    this.#succeed();
  }

  /** Without effect once it has ended one way or the other. */
  fail(reason: Error): void {
    this.#fail(reason);
  }
}
