import { fail } from '../base/errors.ts';
import { MemoryBudget } from '../device/index.ts';

/** Of the memory that is available, what may be pinned: pinned pages are lost to everybody else. */
const SHARE = 0.5;

/** Host memory that may be pinned, as the threads of the process count it together. */
export interface SharedHostMemory {
  readonly total: number;
  /** Shared: one word, the bytes in use. */
  readonly used: BigInt64Array;
}

let shared: SharedHostMemory | undefined;

/** Half of what is available when the first model asks: the system goes on counting pinned pages as available. */
export function sharedHostMemory(): SharedHostMemory {
  shared ??= {
    total: Math.floor(SHARE * process.availableMemory()),
    used: new BigInt64Array(new SharedArrayBuffer(8)),
  };
  return shared;
}

/** Counts in another thread's count from here on. To be called before this thread has one. */
export function shareHostMemory(memory: SharedHostMemory): void {
  shared = memory;
}

/**
 * Host memory that may stay pinned for a model's streamed layers: so many bytes of its own, or, where none are said, what all
 * models of the process may have together. Throws `INVALID_ARGUMENT` for what is no count of bytes.
 */
export function hostMemoryOf(bytes: number | undefined): MemoryBudget {
  if (bytes === undefined) {
    const { total, used } = sharedHostMemory();
    return new MemoryBudget('host', total, used);
  }
  if (Number.isSafeInteger(bytes) && bytes >= 0) return new MemoryBudget('host', bytes);
  return fail('INVALID_ARGUMENT', { name: 'hostMemory', found: String(bytes), expected: 'a count of bytes' });
}
