import { Lifetime } from '../../../base/disposal.ts';
import type { Step } from '../../../device/index.ts';
import type { Allocation, BankSet } from '../memory/bank-set.ts';

/** What a step is made of. */
export interface CpuStepSetup {
  /** The number under which the workers hold it. */
  readonly id: number;
  readonly banks: BankSet;
  /** Memory of its own, for operands that lie in another bank than the kernel. */
  readonly staging: readonly Allocation[];
  /** Called at the end. */
  released(step: CpuStep): void;
}

/** A recorded step; the workers hold its table. */
export class CpuStep implements Step {
  readonly #life: Lifetime;
  readonly #setup: CpuStepSetup;

  constructor(
    readonly label: string,
    setup: CpuStepSetup,
  ) {
    this.#setup = setup;
    this.#life = new Lifetime(`step ${label}`);
  }

  get id(): number {
    return this.#setup.id;
  }

  /** Throws `DISPOSED` after disposal; true when the step is one of the device with these banks. */
  isOf(banks: BankSet): boolean {
    this.#life.check();
    return banks === this.#setup.banks;
  }

  [Symbol.dispose](): void {
    if (!this.#life.end()) return;
    for (const allocation of this.#setup.staging) this.#setup.banks.release(allocation);
    this.#setup.released(this);
  }
}
