import { Lifetime } from '../../../base/disposal.ts';
import type { Step } from '../../../device/index.ts';
import type { Allocation, BankSet } from '../memory/bank-set.ts';

/** What a step is made of. */
export interface StepParts {
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
  readonly #parts: StepParts;

  constructor(
    readonly label: string,
    parts: StepParts,
  ) {
    this.#parts = parts;
    this.#life = new Lifetime(`step ${label}`);
  }

  get id(): number {
    return this.#parts.id;
  }

  /** Throws `DISPOSED` after disposal; true when the step is one of the device with these banks. */
  isOf(banks: BankSet): boolean {
    this.#life.check();
    return banks === this.#parts.banks;
  }

  [Symbol.dispose](): void {
    if (!this.#life.end()) return;
    for (const allocation of this.#parts.staging) this.#parts.banks.release(allocation);
    this.#parts.released(this);
  }
}
