import { Lifetime } from '../../../base/disposal.ts';
import type { Step } from '../../../device/index.ts';
import type { Allocation, BankSet } from '../memory/bank-set.ts';

/** The parts of a step. */
export interface CpuStepSetup {
  /** The id by which the workers know it. */
  readonly id: number;
  readonly banks: BankSet;
  /** Its own memory, for operands in another bank than the kernel. */
  readonly staging: readonly Allocation[];
  /** Called on disposal. */
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

  /** Throws `DISPOSED` after disposal; otherwise returns whether the step belongs to the device with these banks. */
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
