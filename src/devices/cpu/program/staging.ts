import { alignUp } from '../../../base/bytes.ts';
import { BUFFER_ALIGNMENT } from '../../../device/index.ts';
import type { Allocation, BankSet } from '../memory/bank-set.ts';
import type { Place } from '../memory/cpu-buffer.ts';
import type { BankAddress } from '../protocol/command.ts';
import type { TaskTable } from '../protocol/step-table.ts';
import type { Operand } from '../lowering/operands.ts';

/** Which of the two copies an operand needs. */
export interface StagedCopies {
  readonly copiesIn: boolean;
  readonly copiesOut: boolean;
}

/** An operand that a task needs in its own bank. */
interface Foreign {
  readonly operand: Operand;
  readonly place: Place;
  readonly bank: number;
  readonly copies: StagedCopies;
}

/** The copies around one phase. */
export interface StagingRound {
  readonly before: (() => TaskTable)[];
  readonly after: (() => TaskTable)[];
  /** Copies an operand; returns a function that gives its address in the task's bank once memory is allocated. */
  bring(foreign: Foreign): () => number;
}

/** A weight of this many bytes at most is brought once for a whole step: a norm's, a bias. */
const KEPT_BYTES = 64 * 1024;

/**
 * Memory in each bank for operands from other banks while a task uses them. A kernel sees one bank only, but for the matrices of products, so a
 * task runs in the bank that has most of its operands' bytes, and the others are copied there and back. Every phase reuses the same
 * memory, behind which small weights are kept for the whole step. None of this happens while everything is in one bank.
 */
export class Staging {
  readonly #needs = new Map<number, number>();
  readonly #keeps = new Map<number, number>();
  readonly #known = new Map<string, () => number>();
  readonly #kept: (() => TaskTable)[] = [];
  #bases: ReadonlyMap<number, Allocation> = new Map();

  /** The copies of what is kept, for the start of the step. */
  kept(): TaskTable[] {
    return this.#kept.map((task) => task());
  }

  /** Starts collecting the operands of a phase. */
  round(): StagingRound {
    const used = new Map<number, number>();
    const brought = new Map<string, () => number>();
    const before: (() => TaskTable)[] = [];
    const after: (() => TaskTable)[] = [];
    const bring = (foreign: Foreign) => {
      const { operand, place, bank, copies } = foreign;
      if (operand.origin.kind === 'weight' && operand.byteLength <= KEPT_BYTES) return this.#keep(foreign);
      const key = `${bank} ${operand.id}`;
      const known = brought.get(key);
      const address = known ?? this.#reserve(bank, operand.byteLength, used);
      brought.set(key, address);
      const home = (): BankAddress => ({ bank: place.bank, offset: place.offset });
      const stage = (): BankAddress => ({ bank, offset: address() });
      if (copies.copiesIn && !known) before.push(() => copyTask(operand, home(), stage()));
      if (copies.copiesOut) after.push(() => copyTask(operand, stage(), home()));
      return address;
    };
    return { before, after, bring };
  }

  /** Allocates the memory that the rounds need, bank by bank. Throws `OUT_OF_MEMORY`. */
  allocate(banks: BankSet, what: string): ReadonlyMap<number, Allocation> {
    const bases = new Map<number, Allocation>();
    try {
      for (const id of new Set([...this.#needs.keys(), ...this.#keeps.keys()])) {
        const bank = banks.banks[id];
        const byteLength = (this.#needs.get(id) ?? 0) + (this.#keeps.get(id) ?? 0);
        if (bank) bases.set(id, banks.allocateStaging(bank, byteLength, what));
      }
    } catch (error) {
      for (const allocation of bases.values()) banks.release(allocation);
      throw error;
    }
    this.#bases = bases;
    return bases;
  }

  #keep({ operand, place, bank }: Foreign): () => number {
    const key = `${bank} ${place.bank} ${place.offset} ${operand.byteLength}`;
    const known = this.#known.get(key);
    if (known) return known;
    const offset = this.#keeps.get(bank) ?? 0;
    this.#keeps.set(bank, offset + alignUp(operand.byteLength, BUFFER_ALIGNMENT));
    const address = () => (this.#bases.get(bank)?.offset ?? 0) + (this.#needs.get(bank) ?? 0) + offset;
    this.#known.set(key, address);
    this.#kept.push(() => copyTask(operand, place, { bank, offset: address() }));
    return address;
  }

  #reserve(bank: number, byteLength: number, used: Map<number, number>): () => number {
    const offset = used.get(bank) ?? 0;
    const end = offset + alignUp(byteLength, BUFFER_ALIGNMENT);
    used.set(bank, end);
    this.#needs.set(bank, Math.max(this.#needs.get(bank) ?? 0, end));
    return () => (this.#bases.get(bank)?.offset ?? 0) + offset;
  }
}

/** Bytes of memory without rows that one worker copies at a time. */
const COPY_GRAIN = 256 * 1024;

function copyTask(operand: Operand, source: BankAddress, target: BankAddress): TaskTable {
  const whole = { axis: 'one' as const, rowBytes: operand.byteLength, rowUnit: 1 };
  const { axis, rowBytes: columns, rowUnit } = operand.rows ?? whole;
  const columnGrain = operand.rows ? columns : COPY_GRAIN;
  return {
    bank: target.bank,
    split: {
      ...{ axis, rowsTogether: false, columns, columnUnit: 1, columnGrain, leastColumns: 1 },
      ...{ byColumns: true, matrixColumns: 0 },
    },
    calls: [{ kind: 'stage', columns, source, target, rowUnit }],
  };
}
