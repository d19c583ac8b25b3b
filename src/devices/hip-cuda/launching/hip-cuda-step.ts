import { Lifetime } from '../../../base/disposal.ts';
import type { Address, Step } from '../../../device/index.ts';
import type { Driver } from '../driver/driver.ts';

/** A captured graph. */
export class HipCudaStep implements Step {
  readonly #driver: Driver;
  readonly #executable: Address;
  readonly #lifetime: Lifetime;
  readonly #ended: (step: HipCudaStep) => void;

  constructor(
    readonly label: string,
    executable: Address,
    of: { driver: Driver; ended: (step: HipCudaStep) => void },
  ) {
    this.#executable = executable;
    this.#driver = of.driver;
    this.#ended = of.ended;
    this.#lifetime = new Lifetime(`step ${label}`);
  }

  /** The driver's executable graph. Throws `DISPOSED` after disposal. */
  get executable(): Address {
    this.#lifetime.check();
    return this.#executable;
  }

  [Symbol.dispose](): void {
    if (!this.#lifetime.end()) return;
    this.#ended(this);
    this.#driver.destroyExecutable(this.#executable);
  }
}
